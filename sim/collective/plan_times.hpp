#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "base/units.hpp"
#include "collective/plan.hpp"
#include "collective/ring_time.hpp"

namespace syncopate {

/// When a Plan's messages move if no two of them share a link: a max-plus recurrence, O(messages); O(ranks) for the rounds of a ring of
/// equal bandwidths, or where links and starts repeat round it, but for protocols.
///
/// A message is transferred as soon as its sender has sent the one before, its receiver has received the one before, what it
/// carries has arrived and both ranks have started. It arrives `latency` after its transfer, and another gamma x bytes later
/// where its receiver reduces; the next message need not wait for that. A rank has ended when all that it sends has been
/// transferred and all that it receives has arrived. Ranks have channels of their own inside their node. Segments are messages of their
/// own.
class PlanTimes {
 public:
  /// `link`: that of a message, which nothing else uses meanwhile; asked for as long as this lives.
  PlanTimes(Plan plan, std::function<Hop(const Message&)> link, SecondsPerByte gamma);

  const Plan& plan() const { return plan_; }

  /// When every rank ends that starts at `starts`. `data`: of the vector, which the plan divides into parts; latencies are
  /// multiplied by `latency_factor`.
  void operator()(Bytes data, double latency_factor, std::span<const Seconds> starts, std::span<Seconds> ends);

  /// The longest that any rank's channel, in one direction, is busy.
  Seconds busiest(Bytes data) const;

  /// Every rank does the same at the same time, from equal starts: the plan is symmetric and all links of a level are alike.
  bool in_lockstep() const { return in_lockstep_; }

  /// From equal starts, until the last rank ends. O(steps) in lockstep.
  Seconds from_equal_starts(Bytes data, double latency_factor = 1.0);

 private:
  struct Move {
    int from = 0;
    int to = 0;
    int from_cell = 0;  ///< index of what it carries, at its sender ...
    int to_cell = 0;    ///< ... and at its receiver
    double parts = 0.0;
    double latency = 0.0;
    double beta = 0.0;
  };
  struct Moves {
    std::vector<Move> list;
    int repeats = 1;
    bool reduces = false;
    bool inside = false;       ///< the nodes, where ranks have channels of their own
    bool is_ring = false;      ///< every rank sends to the next one, again and again
    bool equal_costs = false;  ///< parts and bandwidths are alike ...
    bool all_alike = false;    ///< ... and latencies, too
  };

  void list_moves();
  double carried(std::size_t cell, const Moves& stage, std::size_t segment) const;
  /// `has_protocol`: what follows is faster without one.
  template <bool has_protocol>
  void move(const Moves& stage, double part, double latency_factor);
  void move_round_ring(const Moves& stage, double part, double latency_factor);
  /// After so many ranks all is the same again round the ring; where it is not, all of them.
  std::size_t period() const;
  void repeat_round_ring(int repeats, std::size_t ranks);
  void pass_round_ring(int repeats, bool alike);
  void wait(const NodeBarrier& barrier);

  Plan plan_;
  std::function<Hop(const Message&)> link_;
  double gamma_;
  bool in_lockstep_;
  std::vector<std::variant<Moves, NodeBarrier>> steps_;  ///< when not in lockstep, or asked for each rank
  std::array<std::vector<double>, 2> sending_;           ///< until when, by rank: between nodes, inside
  std::array<std::vector<double>, 2> receiving_;         ///< likewise
  std::size_t segments_;                                 ///< of a message between nodes
  std::vector<double> ready_;                            ///< by rank, cell and segment: the last arrival
  std::vector<double> received_;                         ///< by rank and segment: likewise, from other nodes; where there are notices
  std::vector<double> entered_;                          ///< by rank and cell: from when on it may receive from other nodes
  std::vector<double> arrivals_;                         ///< of one stage
  std::vector<double> free_;                             ///< round a ring, by sender
  std::vector<double> costs_;
  std::vector<double> latencies_;
  std::vector<std::pair<std::int64_t, double>> latest_;  ///< ranks back round a ring that may be the latest, and how late
};

}  // namespace syncopate
