#include "collective/plan_times.hpp"

#include <algorithm>
#include <numeric>

namespace syncopate {

PlanTimes::PlanTimes(Plan plan, std::function<Hop(const Message&)> link, SecondsPerByte gamma)
    : plan_(std::move(plan)), link_(std::move(link)), gamma_(gamma.value), in_lockstep_(is_symmetric(plan_)) {
  for (const PlanStep& step : plan_.steps) {
    const auto* stage = std::get_if<Stage>(&step);
    if (stage == nullptr || !in_lockstep_) continue;
    const Hop first = link_(stage->messages.front());
    in_lockstep_ =
        std::all_of(stage->messages.begin(), stage->messages.end(), [&](const Message& message) { return link_(message) == first; });
  }
}

void PlanTimes::list_moves() {
  steps_.reserve(plan_.steps.size());
  for (const PlanStep& step : plan_.steps) {
    if (const auto* barrier = std::get_if<NodeBarrier>(&step)) {
      steps_.emplace_back(*barrier);
      continue;
    }
    const auto& stage = std::get<Stage>(step);
    Moves moves;
    moves.repeats = stage.repeats;
    moves.reduces = stage.reduces;
    moves.inside = stage.inside;
    moves.equal_costs = moves.all_alike = true;
    moves.is_ring = plan_.cells == 1 && stage.messages.size() == static_cast<std::size_t>(plan_.ranks);
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

void PlanTimes::operator()(Bytes data, double latency_factor, std::span<const Seconds> starts, std::span<Seconds> ends) {
  if (steps_.empty()) list_moves();
  const auto ranks = static_cast<std::size_t>(plan_.ranks);
  const auto cells = static_cast<std::size_t>(plan_.cells);
  for (auto* channels : {&sending_, &receiving_}) {
    for (std::vector<double>& channel : *channels) {
      channel.resize(ranks);
      for (std::size_t rank = 0; rank < ranks; ++rank) channel[rank] = starts[rank].value;
    }
  }
  ready_.resize(ranks * cells);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::fill_n(ready_.begin() + static_cast<std::ptrdiff_t>(rank * cells), cells, starts[rank].value);
  }
  entered_.assign(plan_.node_size > 1 ? ranks * cells : 0, 0.0);
  const double part = data.value / plan_.parts;
  for (const auto& step : steps_) {
    const auto* stage = std::get_if<Moves>(&step);
    if (stage == nullptr) {
      wait(std::get<NodeBarrier>(step));
    } else if (stage->is_ring) {
      move_round_ring(*stage, part, latency_factor);
    } else {
      for (int repeat = 0; repeat < stage->repeats; ++repeat) move(*stage, part, latency_factor);
    }
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    double end = std::max(sending_[0][rank], sending_[1][rank]);
    for (std::size_t cell = 0; cell < cells; ++cell) end = std::max(end, ready_[rank * cells + cell]);
    ends[rank] = Seconds(end);
  }
}

void PlanTimes::move(const Moves& stage, double part, double latency_factor) {
  std::vector<double>& sending = sending_[stage.inside ? 1 : 0];
  std::vector<double>& receiving = receiving_[stage.inside ? 1 : 0];
  const double gamma = stage.reduces ? gamma_ : 0.0;
  for (const Move& message : stage.list) {
    double& sends = sending[static_cast<std::size_t>(message.from)];
    double& receives = receiving[static_cast<std::size_t>(message.to)];
    const double bytes = message.parts * part;
    double start = std::max(std::max(sends, receives), ready_[static_cast<std::size_t>(message.from_cell)]);
    if (!stage.inside && plan_.node_size > 1) start = std::max(start, entered_[static_cast<std::size_t>(message.to_cell)]);
    sends = receives = start + message.beta * bytes;
    // Written to its receiver only after the stage: nobody sends on in the stage in which it receives.
    arrivals_.push_back(sends + (latency_factor * message.latency + gamma * bytes));
  }
  for (std::size_t i = 0; i < stage.list.size(); ++i) {
    double& ready = ready_[static_cast<std::size_t>(stage.list[i].to_cell)];
    ready = std::max(ready, arrivals_[i]);
  }
  arrivals_.clear();
}

void PlanTimes::move_round_ring(const Moves& stage, double part, double latency_factor) {
  const std::size_t ranks = stage.list.size();
  const double bytes = stage.list.front().parts * part;
  free_.resize(ranks);
  costs_.resize(ranks);
  latencies_.resize(ranks);
  const double reduction = stage.reduces ? gamma_ * bytes : 0.0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    // Over a link of the ring only one rank sends and only one receives, so that both are free at the same times.
    free_[rank] = std::max(sending_[0][rank], receiving_[0][rank + 1 == ranks ? 0 : rank + 1]);
    costs_[rank] = stage.list[rank].beta * bytes;
    latencies_[rank] = latency_factor * stage.list[rank].latency + reduction;
  }
  constexpr std::size_t few_ranks = 64;  // where loops are faster
  if (stage.equal_costs && ranks > few_ranks) {
    pass_round_ring(stage.repeats, stage.all_alike);
  } else {
    repeat_round_ring(stage.repeats);
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    sending_[0][rank] = free_[rank];
    receiving_[0][rank + 1 == ranks ? 0 : rank + 1] = free_[rank];
  }
}

void PlanTimes::repeat_round_ring(int repeats) {
  const std::size_t ranks = free_.size();
  double* const free = free_.data();
  double* const ready = ready_.data();
  const double* const costs = costs_.data();
  const double* const latencies = latencies_.data();
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (std::size_t i = 0; i < ranks; ++i) free[i] = std::max(free[i], ready[i]) + costs[i];
    ready[0] = free[ranks - 1] + latencies[ranks - 1];
    for (std::size_t i = 1; i < ranks; ++i) ready[i] = free[i - 1] + latencies[i - 1];
  }
}

void PlanTimes::pass_round_ring(int repeats, bool alike) {
  // After K rounds of cost c, rank i is free at K c + max over 0 <= d < K of (S(i-d) + the latencies from i-d to i), S being the later of
  // free and ready before: what holds it up comes from d ranks back. With all latencies from some rank on subtracted, that is a maximum
  // over a window that slides round the ring; kept are those ranks in it that no later one beats.
  const auto ranks = static_cast<std::int64_t>(free_.size());
  latest_.resize(static_cast<std::size_t>(ranks + repeats));
  std::size_t front = 0;
  std::size_t back = 0;
  const std::int64_t first = 1 - repeats;
  auto rank = static_cast<std::size_t>((first % ranks + ranks) % ranks);
  double before = static_cast<double>(first) * latencies_.front();  // latencies from rank 0 to this one
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
  const auto size = static_cast<std::size_t>(plan_.node_size);
  const auto all_cells = static_cast<std::size_t>(plan_.cells);
  const auto first_cell = static_cast<std::size_t>(barrier.first_cell);
  const auto cells = static_cast<std::size_t>(barrier.cells);
  for (std::size_t node = 0; node < static_cast<std::size_t>(plan_.ranks); node += size) {
    double latest = 0.0;
    for (std::size_t rank = node; rank < node + size; ++rank) {
      for (std::size_t cell = first_cell; cell < first_cell + cells; ++cell) latest = std::max(latest, ready_[rank * all_cells + cell]);
    }
    for (std::size_t rank = node; rank < node + size; ++rank) {
      for (std::size_t cell = first_cell; cell < first_cell + cells; ++cell) {
        ready_[rank * all_cells + cell] = latest;
        if (barrier.gates_receives) entered_[rank * all_cells + cell] = latest;
      }
    }
  }
}

Seconds PlanTimes::from_equal_starts(Bytes data, double latency_factor) {
  if (!in_lockstep_) {
    const std::vector<Seconds> starts(static_cast<std::size_t>(plan_.ranks));
    std::vector<Seconds> ends(starts.size());
    (*this)(data, latency_factor, starts, ends);
    return *std::max_element(ends.begin(), ends.end());
  }
  const double part = data.value / plan_.parts;
  std::array<double, 2> free = {};
  double ready = 0.0;
  for (const PlanStep& step : plan_.steps) {
    const auto* stage = std::get_if<Stage>(&step);
    if (stage == nullptr) continue;
    const Message& message = stage->messages.front();
    const Hop hop = link_(message);
    const double bytes = message.parts * part;
    const double arrival = latency_factor * hop.latency.value + (stage->reduces ? gamma_ * bytes : 0.0);
    // A round takes a transfer; from the second one on, what it carries has arrived a latency after the transfer before.
    const double transfer = hop.beta.value * bytes;
    double& channel = free[stage->inside ? 1 : 0];
    channel = std::max(channel, ready) + transfer + (stage->repeats - 1) * (arrival + transfer);
    ready = channel + arrival;
  }
  return Seconds(std::max({free[0], free[1], ready}));
}

}  // namespace syncopate
