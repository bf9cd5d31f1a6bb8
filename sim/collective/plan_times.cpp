#include "collective/plan_times.hpp"

#include <algorithm>
#include <numeric>

#include "base/indexed.hpp"

namespace syncopate {

PlanTimes::PlanTimes(Plan plan, std::function<Hop(const Message&)> link, SecondsPerByte gamma)
    : plan_(std::move(plan)),
      link_(std::move(link)),
      gamma_(gamma.value),
      in_lockstep_(is_symmetric(plan_)),
      segments_(at(plan_.protocol.segments)) {
  for (const PlanStep& step : plan_.steps) {
    const auto* stage = std::get_if<Stage>(&step);
    if (stage == nullptr || !in_lockstep_) continue;
    const Hop first = link_(stage->messages.front());
    in_lockstep_ =
        std::all_of(stage->messages.begin(), stage->messages.end(), [&](const Message& message) { return link_(message) == first; });
  }
}

void PlanTimes::list_moves() {
  for (std::size_t number = 0; number < plan_.steps.size(); ++number) {
    const PlanStep& step = plan_.steps[number];
    if (const auto* barrier = std::get_if<NodeBarrier>(&step)) {
      steps_.emplace_back(*barrier);
      continue;
    }
    if (auto chains = find_chains(number)) {
      number += chains->stages - 1;
      steps_.emplace_back(std::move(*chains));
      continue;
    }
    const auto& stage = std::get<Stage>(step);
    Moves moves;
    moves.repeats = stage.repeats;
    moves.reduces = stage.reduces;
    moves.inside = stage.inside;
    moves.equal_costs = moves.all_alike = true;
    moves.is_ring = plan_.cells == 1 && stage.messages.size() == at(plan_.ranks) && plan_.protocol == Protocol();
    moves.list.reserve(stage.messages.size());
    for (const Message& message : stage.messages) {
      const Hop hop = link_(message);
      const int index = static_cast<int>(moves.list.size());
      moves.list.push_back({message.from, message.to, message.from * plan_.cells + message.cell, message.to * plan_.cells + message.cell,
                            static_cast<double>(message.parts), hop.latency.value, hop.beta.value});
      const Move& first = moves.list.front();
      const Move& last = moves.list.back();
      moves.equal_costs = moves.equal_costs && first.parts == last.parts && first.beta == last.beta;
      moves.all_alike = moves.equal_costs && moves.all_alike && first.latency == last.latency;
      moves.is_ring = moves.is_ring && message.from == index && message.to == (index + 1) % plan_.ranks;
    }
    steps_.emplace_back(std::move(moves));
  }
}

namespace {

/// A stage that may be a hop of pieces along chains.
const Stage* hop_of_chains(const Plan& plan, std::size_t number) {
  if (number >= plan.steps.size()) return nullptr;
  const auto* stage = std::get_if<Stage>(&plan.steps[number]);
  return stage != nullptr && stage->repeats == 1 && !stage->inside ? stage : nullptr;
}

bool move_alike(const Stage& a, const Stage& b) {
  return a.reduces == b.reduces &&
         std::equal(a.messages.begin(), a.messages.end(), b.messages.begin(), b.messages.end(),
                    [](const Message& x, const Message& y) { return x.from == y.from && x.to == y.to && x.parts == y.parts; });
}

/// How many stages from `first` on come before one that moves the same again; 0 if none does.
std::size_t count_hops(const Plan& plan, std::size_t first) {
  const Stage& start = *hop_of_chains(plan, first);
  for (std::size_t hops = 1;; ++hops) {
    const Stage* const stage = hop_of_chains(plan, first + hops);
    if (stage == nullptr || stage->reduces != start.reduces || hops >= at(plan.ranks)) return 0;
    if (move_alike(*stage, start)) return hops;
  }
}

}  // namespace

std::optional<PlanTimes::Chains> PlanTimes::find_chains(std::size_t first) const {
  const Stage* const start = hop_of_chains(plan_, first);
  if (start == nullptr || start->messages.empty() || plan_.cells > 1 || plan_.node_size > 1 || plan_.protocol != Protocol())
    return std::nullopt;
  const std::size_t hops = count_hops(plan_, first);
  if (hops == 0) return std::nullopt;
  Chains chains = {.list = {}, .parts = static_cast<double>(start->messages.front().parts), .reduces = start->reduces};
  std::vector<int> chain_of(at(plan_.ranks), -1);  // by rank
  for (std::size_t hop = 0; hop < hops; ++hop) {
    for (const Message& message : hop_of_chains(plan_, first + hop)->messages) {
      const Hop link = link_(message);
      int& chain = chain_of[at(message.from)];
      if (hop == 0 && chain < 0) {
        chain = static_cast<int>(chains.list.size());
        chains.list.push_back({{message.from}, link.beta.value, link.latency.value});
      }
      if (chain < 0 || chain_of[at(message.to)] >= 0 || message.parts != start->messages.front().parts) return std::nullopt;
      Chain& passed = chains.list[at(chain)];
      if (passed.ranks.back() != message.from || passed.ranks.size() != hop + 1 || passed.beta != link.beta.value ||
          passed.latency != link.latency.value)
        return std::nullopt;
      passed.ranks.push_back(message.to);
      chain_of[at(message.to)] = chain;
    }
  }
  const auto comes_again = [&](std::size_t number) {
    const Stage* const stage = hop_of_chains(plan_, number);
    return stage != nullptr && move_alike(*stage, *hop_of_chains(plan_, number - hops));
  };
  chains.stages = hops;
  while (comes_again(first + chains.stages)) ++chains.stages;
  chains.pieces = static_cast<int>(chains.stages / hops);
  chains.stages = at(chains.pieces) * hops;
  return chains.pieces > 1 ? std::optional(chains) : std::nullopt;
}

void PlanTimes::pass_along(const Chains& chains, double part, double latency_factor) {
  // The first piece is over a hop, of cost c and latency l, at F(h) = max(F(h-1) + l, when both ranks are ready for it) + c. The others
  // follow at intervals of c: F(h-1) + l + c <= F(h), so that none waits for its arrival.
  const double bytes = chains.parts * part;
  const double reduction = chains.reduces ? gamma_ * bytes : 0.0;
  for (const Chain& chain : chains.list) {
    const double cost = chain.beta * bytes;
    const double latency = latency_factor * chain.latency + reduction;
    double over = 0.0;     // when the first piece is over the last hop
    double arrived = 0.0;  // when the last piece has arrived over that
    for (std::size_t hop = 0; hop + 1 < chain.ranks.size(); ++hop) {
      const std::size_t from = at(chain.ranks[hop]);
      const std::size_t to = at(chain.ranks[hop + 1]);
      const double free = std::max({sending_[0][from], receiving_[0][to], ready_[from]});
      over = (hop == 0 ? free : std::max(free, over + latency)) + cost;
      if (hop > 0) ready_[from] = std::max(ready_[from], arrived);
      const double last = over + (chains.pieces - 1) * cost;
      sending_[0][from] = receiving_[0][to] = last;
      arrived = last + latency;
    }
    double& ready = ready_[at(chain.ranks.back())];
    ready = std::max(ready, arrived);
  }
}

double PlanTimes::carried(std::size_t cell, const Moves& stage, std::size_t segment) const {
  const double* const first = ready_.data() + cell * segments_;
  return stage.inside ? *std::max_element(first, first + segments_) : first[segment];
}

template <bool has_protocol>
void PlanTimes::move(const Moves& stage, double part, double latency_factor) {
  std::vector<double>& sending = sending_[stage.inside ? 1 : 0];
  std::vector<double>& receiving = receiving_[stage.inside ? 1 : 0];
  const double gamma = stage.reduces ? gamma_ : 0.0;
  const std::size_t all_segments = has_protocol ? segments_ : 1;
  const std::size_t segments = stage.inside ? 1 : all_segments;
  const double segment_part = part / static_cast<double>(segments);
  const bool waits_for_entry = !stage.inside && plan_.node_size > 1;
  const bool has_notices = has_protocol && plan_.protocol.rendezvous && !stage.inside;
  const std::size_t messages = stage.list.size();
  arrivals_.resize(segments * messages);
  for (std::size_t segment = 0; segment < segments; ++segment) {
    double* const arrivals = arrivals_.data() + segment * messages;
    for (std::size_t i = 0; i < messages; ++i) {
      const Move& message = stage.list[i];
      const auto to = at(message.to);
      double& sends = sending[at(message.from)];
      double& receives = receiving[to];
      const double bytes = message.parts * segment_part;
      const double latency = latency_factor * message.latency;
      const auto cell = at(message.from_cell);
      double start = std::max({sends, receives, has_protocol ? carried(cell, stage, segment) : ready_[cell]});
      if (waits_for_entry) start = std::max(start, entered_[at(message.to_cell)]);
      if (has_notices) start = std::max(start, received_[to * segments_ + segment] + latency);
      sends = receives = start + message.beta * bytes;
      // Takes effect after the stage: no rank forwards data in the stage in which it arrives.
      arrivals[i] = sends + (latency + gamma * bytes);
    }
  }
  for (std::size_t segment = 0; segment < segments; ++segment) {
    const double* const arrivals = arrivals_.data() + segment * messages;
    const std::size_t to_each = stage.inside ? all_segments : 1;
    for (std::size_t i = 0; i < messages; ++i) {
      double* const ready = ready_.data() + at(stage.list[i].to_cell) * all_segments + segment;
      for (std::size_t s = 0; s < to_each; ++s) ready[s] = std::max(ready[s], arrivals[i]);
      if (!has_notices) continue;
      double& received = received_[at(stage.list[i].to) * segments_ + segment];
      received = std::max(received, arrivals[i]);
    }
  }
}

void PlanTimes::operator()(Bytes data, double latency_factor, std::span<const Seconds> starts, std::span<Seconds> ends) {
  if (steps_.empty()) list_moves();
  const auto ranks = at(plan_.ranks);
  const auto cells = at(plan_.cells);
  for (auto* channels : {&sending_, &receiving_}) {
    for (std::vector<double>& channel : *channels) {
      channel.resize(ranks);
      for (std::size_t rank = 0; rank < ranks; ++rank) channel[rank] = starts[rank].value;
    }
  }
  const auto start_each = [&](std::vector<double>& times, std::size_t each) {
    times.resize(ranks * each);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      std::fill_n(times.begin() + static_cast<std::ptrdiff_t>(rank * each), each, starts[rank].value);
    }
  };
  start_each(ready_, cells * segments_);
  if (plan_.protocol.rendezvous) start_each(received_, segments_);
  entered_.assign(plan_.node_size > 1 ? ranks * cells : 0, 0.0);
  const double part = data.value / plan_.parts;
  for (const auto& step : steps_) {
    const auto* stage = std::get_if<Moves>(&step);
    if (const auto* chains = std::get_if<Chains>(&step)) {
      pass_along(*chains, part, latency_factor);
    } else if (stage == nullptr) {
      wait(std::get<NodeBarrier>(step));
    } else if (stage->is_ring) {
      move_round_ring(*stage, part, latency_factor);
    } else {
      const bool has_protocol = plan_.protocol != Protocol();
      for (int repeat = 0; repeat < stage->repeats; ++repeat) {
        has_protocol ? move<true>(*stage, part, latency_factor) : move<false>(*stage, part, latency_factor);
      }
    }
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    double end = std::max(sending_[0][rank], sending_[1][rank]);
    for (std::size_t i = 0; i < cells * segments_; ++i) end = std::max(end, ready_[rank * cells * segments_ + i]);
    ends[rank] = Seconds(end);
  }
}

void PlanTimes::move_round_ring(const Moves& stage, double part, double latency_factor) {
  const std::size_t ranks = stage.list.size();
  const double bytes = stage.list.front().parts * part;
  free_.resize(ranks);
  costs_.resize(ranks);
  latencies_.resize(ranks);
  const double reduction = stage.reduces ? gamma_ * bytes : 0.0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    // Each link of the ring has one sender and one receiver, so their channels are free at the same time.
    free_[rank] = std::max(sending_[0][rank], receiving_[0][rank + 1 == ranks ? 0 : rank + 1]);
    costs_[rank] = stage.list[rank].beta * bytes;
    latencies_[rank] = latency_factor * stage.list[rank].latency + reduction;
  }
  constexpr std::size_t few_ranks = 64;  // up to here plain loops are faster
  if (stage.equal_costs && ranks > few_ranks) {
    pass_round_ring(stage.repeats, stage.all_alike);
  } else {
    repeat_round_ring(stage.repeats, period());
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    sending_[0][rank] = free_[rank];
    receiving_[0][rank + 1 == ranks ? 0 : rank + 1] = free_[rank];
  }
}

std::size_t PlanTimes::period() const {
  constexpr std::size_t most = 64;
  const std::size_t ranks = free_.size();
  for (std::size_t period = 1; period <= std::min(most, ranks / 2); ++period) {
    const auto comes_again = [&](const std::vector<double>& values) {
      return std::equal(values.begin() + static_cast<std::ptrdiff_t>(period), values.end(), values.begin());
    };
    if (ranks % period == 0 && comes_again(free_) && comes_again(ready_) && comes_again(costs_) && comes_again(latencies_)) return period;
  }
  return ranks;
}

void PlanTimes::repeat_round_ring(int repeats, std::size_t ranks) {
  double* const free = free_.data();
  double* const ready = ready_.data();
  const double* const costs = costs_.data();
  const double* const latencies = latencies_.data();
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (std::size_t i = 0; i < ranks; ++i) free[i] = std::max(free[i], ready[i]) + costs[i];
    ready[0] = free[ranks - 1] + latencies[ranks - 1];
    for (std::size_t i = 1; i < ranks; ++i) ready[i] = free[i - 1] + latencies[i - 1];
  }
  for (std::size_t i = ranks; i < free_.size(); ++i) {
    free_[i] = free_[i - ranks];
    ready_[i] = ready_[i - ranks];
  }
}

void PlanTimes::pass_round_ring(int repeats, bool alike) {
  // Let S(i) = max(free(i), ready(i)) before the rounds, and L(i, j) the latencies from rank i to rank j. After K rounds of cost c, rank i
  // is free at K c + max over 0 <= d < K of S(i-d) + L(i-d, i). With L(i-d, i) = L(0, i) - L(0, i-d), this is the maximum of S(j) - L(0, j)
  // over a window of K ranks that slides round the ring. `latest_` holds the candidates: ranks of the window without a larger later one.
  const auto ranks = static_cast<std::int64_t>(free_.size());
  latest_.resize(static_cast<std::size_t>(ranks + repeats));
  std::size_t front = 0;
  std::size_t back = 0;
  const std::int64_t first = 1 - repeats;
  auto rank = static_cast<std::size_t>((first % ranks + ranks) % ranks);
  double before = static_cast<double>(first) * latencies_.front();  // L(0, rank)
  if (!alike) {
    const auto here = latencies_.begin() + static_cast<std::ptrdiff_t>(rank);
    const std::int64_t rounds_back = (static_cast<std::int64_t>(rank) - first) / ranks;
    before = std::accumulate(latencies_.begin(), here, 0.0) -
             static_cast<double>(rounds_back) * std::accumulate(latencies_.begin(), latencies_.end(), 0.0);
  }
  const double all_costs = repeats * costs_.front();
  for (std::int64_t position = first; position < ranks; ++position) {
    const double late = std::max(free_[rank], ready_[rank]) - before;
    while (back > front && latest_[back - 1].second <= late) --back;
    latest_[back++] = {position, late};
    if (latest_[front].first <= position - repeats) ++front;
    if (position >= 0) free_[rank] = all_costs + before + latest_[front].second;
    before = alike ? static_cast<double>(position + 1) * latencies_.front() : before + latencies_[rank];
    if (++rank == free_.size()) rank = 0;
  }
  for (std::size_t i = 0; i < free_.size(); ++i) ready_[i + 1 == free_.size() ? 0 : i + 1] = free_[i] + latencies_[i];
}

void PlanTimes::wait(const NodeBarrier& barrier) {
  const auto size = at(plan_.node_size);
  const auto all_cells = at(plan_.cells);
  const auto first_cell = at(barrier.first_cell);
  const auto cells = at(barrier.cells);
  for (std::size_t node = 0; node < at(plan_.ranks); node += size) {
    const auto for_each_cell = [&](auto&& function) {
      for (std::size_t rank = node; rank < node + size; ++rank) {
        for (std::size_t cell = first_cell; cell < first_cell + cells; ++cell) function(rank * all_cells + cell);
      }
    };
    double latest = 0.0;
    for_each_cell([&](std::size_t cell) {
      for (std::size_t i = cell * segments_; i < (cell + 1) * segments_; ++i) latest = std::max(latest, ready_[i]);
    });
    for_each_cell([&](std::size_t cell) {
      for (std::size_t i = cell * segments_; i < (cell + 1) * segments_; ++i) ready_[i] = latest;
      if (barrier.gates_receives) entered_[cell] = latest;
    });
  }
}

Seconds PlanTimes::busiest(Bytes data) const {
  const auto ranks = at(plan_.ranks);
  std::vector<double> sends(2 * ranks);  // by channel: between nodes, inside
  std::vector<double> receives(2 * ranks);
  for (const PlanStep& step : plan_.steps) {
    const auto* stage = std::get_if<Stage>(&step);
    if (stage == nullptr) continue;
    const std::size_t first = stage->inside ? ranks : 0;
    for (const Message& message : stage->messages) {
      const double busy = stage->repeats * link_(message).beta.value * message.parts;
      sends[first + at(message.from)] += busy;
      receives[first + at(message.to)] += busy;
    }
  }
  const double most = std::max(*std::max_element(sends.begin(), sends.end()), *std::max_element(receives.begin(), receives.end()));
  return Seconds(most * data.value / plan_.parts);
}

Seconds PlanTimes::from_equal_starts(Bytes data, double latency_factor) {
  if (!in_lockstep_) {
    const std::vector<Seconds> starts(at(plan_.ranks));
    std::vector<Seconds> ends(starts.size());
    (*this)(data, latency_factor, starts, ends);
    return *std::max_element(ends.begin(), ends.end());
  }
  const double part = data.value / plan_.parts;
  std::array<double, 2> free = {};
  std::vector<double> ready(segments_);
  std::vector<double> received(segments_);
  for (const PlanStep& step : plan_.steps) {
    const auto* stage = std::get_if<Stage>(&step);
    if (stage == nullptr) continue;
    const Message& message = stage->messages.front();
    const Hop hop = link_(message);
    const std::size_t segments = stage->inside ? 1 : segments_;
    const double bytes = message.parts * part / static_cast<double>(segments);
    const double latency = latency_factor * hop.latency.value;
    const double arrival = latency + (stage->reduces ? gamma_ * bytes : 0.0);
    const double transfer = hop.beta.value * bytes;
    double& channel = free[stage->inside ? 1 : 0];
    if (stage->inside || plan_.protocol == Protocol()) {
      // A repetition takes one transfer. From the second on, its data arrives one latency after the previous transfer.
      channel = std::max(channel, *std::max_element(ready.begin(), ready.end())) + transfer + (stage->repeats - 1) * (arrival + transfer);
      std::fill(ready.begin(), ready.end(), channel + arrival);
      continue;
    }
    for (int repeat = 0; repeat < stage->repeats; ++repeat) {
      for (std::size_t segment = 0; segment < segments; ++segment) {
        const double noticed = plan_.protocol.rendezvous ? received[segment] + latency : 0.0;
        channel = std::max({channel, ready[segment], noticed}) + transfer;
        ready[segment] = received[segment] = channel + arrival;
      }
    }
  }
  return Seconds(std::max({free[0], free[1], *std::max_element(ready.begin(), ready.end())}));
}

}  // namespace syncopate
