#include "collective/plan_path.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "base/indexed.hpp"

namespace syncopate {

namespace {

/// A time, and the event that ended at this time.
struct Ended {
  double time = 0.0;
  /// Start of a rank: ~rank (negative). Transfer of message i: 2 i. Arrival of message i: 2 i + 1.
  std::int64_t what = -1;
};

void wait_for(Ended& latest, const Ended& candidate) {
  if (candidate.time > latest.time) latest = candidate;
}

/// The recurrence of PlanTimes, which also records the event that each message waited for.
class Tracer {
 public:
  Tracer(const Plan& plan, const std::function<Hop(int, int)>& hop, double gamma, double part, double latency_factor,
         std::span<const Seconds> starts)
      : plan_(plan),
        hop_(hop),
        gamma_(gamma),
        part_(part),
        latency_factor_(latency_factor),
        segments_(at(plan.protocol.segments)),
        ready_(start_each(starts, at(plan.cells) * segments_)),
        received_(start_each(starts, segments_)),
        entered_(at(plan.ranks) * at(plan.cells)) {
    for (auto* channels : {&sending_, &receiving_}) channels->fill(start_each(starts, 1));
    for (int step = 0; step < static_cast<int>(plan.steps.size()); ++step) {
      const auto* stage = std::get_if<Stage>(&plan.steps[at(step)]);
      if (stage == nullptr) {
        wait(std::get<NodeBarrier>(plan.steps[at(step)]));
        continue;
      }
      hops_.clear();
      for (int message = 0; message < static_cast<int>(stage->messages.size()); ++message) hops_.push_back(hop(step, message));
      for (int repeat = 0; repeat < stage->repeats; ++repeat) move(*stage, step);
    }
  }

  PlanPath path_to(int rank) const {
    const auto first = ready_.begin() + static_cast<std::ptrdiff_t>(at(rank) * at(plan_.cells) * segments_);
    Ended end = *first;
    for (auto cell = first; cell != first + static_cast<std::ptrdiff_t>(at(plan_.cells) * segments_); ++cell) wait_for(end, *cell);
    for (const std::vector<Ended>& level : sending_) wait_for(end, level[at(rank)]);
    PlanPath path;
    std::int64_t what = end.what;
    while (what >= 0) what = add(path, what);
    path.origin = static_cast<int>(~what);
    std::reverse(path.pieces.begin(), path.pieces.end());
    return path;
  }

 private:
  /// The messages of one segment of a stage, in one repetition. Numbers begin at `first`.
  struct Block {
    std::int64_t first = 0;
    int step = 0;
  };
  struct Wait {
    std::int64_t what = -1;
    bool notice = false;
  };

  static std::vector<Ended> start_each(std::span<const Seconds> starts, std::size_t each) {
    std::vector<Ended> times;
    times.reserve(starts.size() * each);
    for (std::size_t rank = 0; rank < starts.size(); ++rank)
      times.insert(times.end(), each, {starts[rank].value, ~static_cast<std::int64_t>(rank)});
    return times;
  }

  Ended carried(std::size_t cell, bool inside, std::size_t segment) const {
    const Ended* const first = ready_.data() + cell * segments_;
    if (!inside) return first[segment];
    Ended latest = *first;
    for (std::size_t s = 1; s < segments_; ++s) wait_for(latest, first[s]);
    return latest;
  }

  double bytes_of(const Stage& stage, const Message& message) const { return message.parts * part_ / plan_.segments(stage); }

  void move(const Stage& stage, int step) {
    std::vector<Ended>& sending = sending_[stage.inside ? 1 : 0];
    std::vector<Ended>& receiving = receiving_[stage.inside ? 1 : 0];
    const std::size_t segments = stage.inside ? 1 : segments_;
    const bool has_notices = plan_.protocol.rendezvous && !stage.inside;
    const std::size_t messages = stage.messages.size();
    arrivals_.resize(segments * messages);
    for (std::size_t segment = 0; segment < segments; ++segment) {
      blocks_.push_back({static_cast<std::int64_t>(waits_.size()), step});
      for (std::size_t i = 0; i < messages; ++i) {
        const Message& message = stage.messages[i];
        const double latency = latency_factor_ * hops_[i].latency.value;
        const double bytes = bytes_of(stage, message);
        Ended& sends = sending[at(message.from)];
        Ended& receives = receiving[at(message.to)];
        Ended start = carried(at(message.from) * at(plan_.cells) + at(message.cell), stage.inside, segment);
        wait_for(start, sends);
        wait_for(start, receives);
        if (!stage.inside && plan_.node_size > 1) wait_for(start, entered_[at(message.to) * at(plan_.cells) + at(message.cell)]);
        bool notice = false;
        if (has_notices) {
          const Ended& before = received_[at(message.to) * segments_ + segment];
          notice = before.time + latency > start.time;
          wait_for(start, {before.time + latency, before.what});
        }
        const auto number = static_cast<std::int64_t>(waits_.size());
        waits_.push_back({start.what, notice});
        sends = receives = {start.time + hops_[i].beta.value * bytes, 2 * number};
        arrivals_[segment * messages + i] = {sends.time + (latency + (stage.reduces ? gamma_ : 0.0) * bytes), 2 * number + 1};
      }
    }
    for (std::size_t segment = 0; segment < segments; ++segment) {
      for (std::size_t i = 0; i < messages; ++i) {
        const Message& message = stage.messages[i];
        const Ended& arrival = arrivals_[segment * messages + i];
        const std::size_t cell = (at(message.to) * at(plan_.cells) + at(message.cell)) * segments_;
        const std::size_t last = stage.inside ? segments_ : segment + 1;
        for (std::size_t s = segment; s < last; ++s) wait_for(ready_[cell + s], arrival);
        if (has_notices) wait_for(received_[at(message.to) * segments_ + segment], arrival);
      }
    }
  }

  void wait(const NodeBarrier& barrier) {
    for (int node = 0; node < plan_.ranks; node += plan_.node_size) {
      const auto for_each_cell = [&](auto&& function) {
        for (int rank = node; rank < node + plan_.node_size; ++rank) {
          for (int cell = barrier.first_cell; cell < barrier.first_cell + barrier.cells; ++cell) {
            function(at(rank) * at(plan_.cells) + at(cell));
          }
        }
      };
      Ended latest = ready_[(at(node) * at(plan_.cells) + at(barrier.first_cell)) * segments_];
      for_each_cell([&](std::size_t cell) {
        for (std::size_t i = cell * segments_; i < (cell + 1) * segments_; ++i) wait_for(latest, ready_[i]);
      });
      for_each_cell([&](std::size_t cell) {
        for (std::size_t i = cell * segments_; i < (cell + 1) * segments_; ++i) ready_[i] = latest;
        if (barrier.gates_receives) entered_[cell] = latest;
      });
    }
  }

  /// Appends the pieces of a transfer or arrival in reverse order. Returns the event that it waited for.
  std::int64_t add(PlanPath& path, std::int64_t what) const {
    const std::int64_t number = what / 2;
    const auto block = std::prev(std::upper_bound(blocks_.begin(), blocks_.end(), number,
                                                  [](std::int64_t value, const Block& block_after) { return value < block_after.first; }));
    const int step = block->step;
    const int index = static_cast<int>(number - block->first);
    const Stage& stage = plan_.stage(step);
    const double bytes = bytes_of(stage, stage.messages[at(index)]);
    const Hop hop = hop_(step, index);
    const auto piece = [&](PlanPath::Kind kind, double length) {
      if (length > 0.0) path.pieces.push_back({kind, step, index, Seconds(length)});
    };
    if (what % 2 == 1) {
      if (stage.reduces) piece(PlanPath::Kind::reduce, gamma_ * bytes);
      piece(PlanPath::Kind::latency, latency_factor_ * hop.latency.value);
    }
    piece(PlanPath::Kind::transfer, hop.beta.value * bytes);
    const Wait& waited = waits_[static_cast<std::size_t>(number)];
    if (waited.notice) piece(PlanPath::Kind::latency, latency_factor_ * hop.latency.value);
    return waited.what;
  }

  const Plan& plan_;
  const std::function<Hop(int, int)>& hop_;
  double gamma_;
  double part_;
  double latency_factor_;
  std::size_t segments_;
  std::array<std::vector<Ended>, 2> sending_;    ///< by level and rank
  std::array<std::vector<Ended>, 2> receiving_;  ///< by level and rank
  std::vector<Ended> ready_;                     ///< by rank, cell and segment
  std::vector<Ended> received_;                  ///< by rank and segment, from other nodes
  std::vector<Ended> entered_;                   ///< by rank and cell
  std::vector<Hop> hops_;                        ///< of the current stage, by message
  std::vector<Ended> arrivals_;                  ///< of the current stage, by segment and message
  std::vector<Block> blocks_;
  std::vector<Wait> waits_;  ///< by the message's number
};

/// Does the same for a ring whose messages take equally long within a stage, in O(ranks) per stage. As in PlanTimes::pass_round_ring, with
/// S(i) = max(free(i), ready(i)): after K repeats of cost c, the critical path to rank i comes from rank i - d, where 0 <= d < K maximises
/// S(i - d) + the latencies from i - d to i.
class RingTracer {
 public:
  /// Nullopt if the plan is not such a ring.
  static std::optional<RingTracer> make(const Plan& plan, const std::function<Hop(int, int)>& hop, double gamma, double part,
                                        double latency_factor, std::span<const Seconds> starts) {
    if (plan.cells > 1 || plan.protocol != Protocol() || plan.ranks < 2) return std::nullopt;
    RingTracer tracer(plan.ranks, starts);
    for (int step = 0; step < static_cast<int>(plan.steps.size()); ++step) {
      const auto* stage = std::get_if<Stage>(&plan.steps[at(step)]);
      if (stage == nullptr || stage->messages.size() != at(plan.ranks) || stage->inside != plan.stage(0).inside) return std::nullopt;
      Round round = {step, stage->repeats, hop(step, 0).beta.value * stage->messages.front().parts * part, {}, {}, {}, {}};
      for (int index = 0; index < plan.ranks; ++index) {
        const Message& message = stage->messages[at(index)];
        const Hop hop_here = hop(step, index);
        const bool follows = message.from == index && message.to == (index + 1) % plan.ranks;
        if (!follows || hop_here.beta.value * message.parts * part != round.cost) return std::nullopt;
        round.latencies.push_back(latency_factor * hop_here.latency.value);
        round.reductions.push_back(stage->reduces ? gamma * message.parts * part : 0.0);
      }
      tracer.go_round(std::move(round));
    }
    return tracer;
  }

  PlanPath path_to(int rank) const {
    PlanPath path;
    std::size_t round = rounds_.size();
    std::size_t i = at(rank);
    bool is_arrival = ready_[i] >= free_[i];
    for (; round > 0; --round) {
      const Round& current = rounds_[round - 1];
      const auto add = [&](PlanPath::Kind kind, std::size_t message, double length) {
        if (length > 0.0) path.pieces.push_back({kind, current.step, static_cast<int>(message), Seconds(length)});
      };
      const auto arrive_from = [&](std::size_t from) {
        add(PlanPath::Kind::reduce, from, current.reductions[from]);
        add(PlanPath::Kind::latency, from, current.latencies[from]);
      };
      if (is_arrival) {
        i = before(i);
        arrive_from(i);
      }
      add(PlanPath::Kind::transfer, i, (current.repeats - current.ranks_back[i]) * current.cost);
      for (int back = current.ranks_back[i]; back > 0; --back) {
        i = before(i);
        arrive_from(i);
        add(PlanPath::Kind::transfer, i, current.cost);
      }
      is_arrival = current.was_ready[i] != 0;
    }
    const std::size_t receiver = i + 1 == count_ ? 0 : i + 1;
    path.origin = static_cast<int>(!is_arrival && starts_[receiver] > starts_[i] ? receiver : i);
    std::reverse(path.pieces.begin(), path.pieces.end());
    return path;
  }

 private:
  struct Round {
    int step = 0;
    int repeats = 1;
    double cost = 0.0;               ///< of each transfer
    std::vector<double> latencies;   ///< by sender
    std::vector<double> reductions;  ///< by sender; the receiver does them
    std::vector<int> ranks_back;     ///< by rank: d above
    std::vector<char> was_ready;     ///< by rank: whether ready >= free before the round
  };

  RingTracer(int ranks, std::span<const Seconds> starts) : count_(at(ranks)), starts_(starts.begin(), starts.end()) {
    for (std::size_t i = 0; i < count_; ++i) {
      ready_.push_back(starts_[i].value);
      free_.push_back(std::max(starts_[i], starts_[i + 1 == count_ ? 0 : i + 1]).value);
    }
  }

  std::size_t before(std::size_t rank) const { return rank == 0 ? count_ - 1 : rank - 1; }

  void go_round(Round round) {
    const auto ranks = static_cast<std::int64_t>(count_);
    round.ranks_back.resize(count_);
    round.was_ready.resize(count_);
    std::vector<double> later(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      round.was_ready[i] = ready_[i] >= free_[i] ? 1 : 0;
      later[i] = std::max(ready_[i], free_[i]);
    }
    const auto arrival = [&](std::size_t from) { return round.latencies[from] + round.reductions[from]; };
    // A sliding-window maximum over the last `repeats` ranks: rank, and S(rank) minus the latencies from position 0.
    std::deque<std::pair<std::int64_t, double>> latest;
    double way = 0.0;
    for (std::int64_t position = 1 - round.repeats; position < ranks; ++position) {
      const auto i =
          static_cast<std::size_t>((position % ranks + ranks) % ranks);  // NOLINT(clang-analyzer-core.DivideZero): there are ranks
      const double late = later[i] - way;
      while (!latest.empty() && latest.back().second < late) latest.pop_back();
      latest.emplace_back(position, late);
      if (latest.front().first <= position - round.repeats) latest.pop_front();
      if (position >= 0) {
        round.ranks_back[i] = static_cast<int>(position - latest.front().first);
        free_[i] = round.repeats * round.cost + way + latest.front().second;
      }
      way += arrival(i);
    }
    for (std::size_t i = 0; i < count_; ++i) ready_[i + 1 == count_ ? 0 : i + 1] = free_[i] + arrival(i);
    rounds_.push_back(std::move(round));
  }

  std::size_t count_;
  std::vector<Seconds> starts_;
  std::vector<double> free_;   ///< by rank: when its channel to the next rank is free
  std::vector<double> ready_;  ///< by rank: when it has the data that it sends next
  std::vector<Round> rounds_;
};

}  // namespace

PlanPath find_path(const Plan& plan, const std::function<Hop(int step, int message)>& hop, SecondsPerByte gamma, Bytes data,
                   double latency_factor, std::span<const Seconds> starts, int rank) {
  if (const auto ring = RingTracer::make(plan, hop, gamma.value, data.value / plan.parts, latency_factor, starts))
    return ring->path_to(rank);
  return Tracer(plan, hop, gamma.value, data.value / plan.parts, latency_factor, starts).path_to(rank);
}

}  // namespace syncopate
