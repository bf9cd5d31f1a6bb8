#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/indexed.hpp"
#include "base/units.hpp"
#include "collective/plan.hpp"
#include "engine/clock/clock.hpp"

namespace syncopate {

/// A Plan's messages by who sends and who receives them, in the order of the steps. Made once for all runs of a Plan.
class PlanOrder {
 public:
  /// A stage's message that a rank sends or receives; the stage repeats.
  struct Turn {
    int stage = 0;
    int message = 0;
  };

  explicit PlanOrder(Plan given);

  const Plan& plan() const { return plan_; }
  /// Ranks have ports of their own inside their node: a port is rank + ranks if so, else rank.
  std::size_t port(const Turn& turn, int rank) const;

  std::vector<std::vector<Turn>> sends;         ///< by port
  std::vector<std::vector<Turn>> receives;      ///< by port
  std::vector<std::vector<int>> waits_for;      ///< by stage and message: earlier receives of its sender, of its cell, in other stages
  std::vector<std::vector<char>> receives_too;  ///< its sender also receives in the stage, in that cell
  std::vector<std::vector<int>> number;         ///< by stage and message: of its receiver's receives of its cell, its first repeat's
  std::vector<int> all_receives;                ///< by rank; each segment of a message counts
  std::vector<int> first_round;                 ///< by stage: how often stages before it run

  /// A NodeBarrier of the plan.
  struct Barrier : NodeBarrier {
    int step = 0;
    std::vector<int> receives;  ///< by node: earlier ones, of these cells
  };
  std::vector<Barrier> barriers;
  std::vector<std::vector<int>> barriers_of_cell;  ///< indices of barriers, in order

 private:
  Plan plan_;
};

/// One collective while its messages move, event by event: the same rules as PlanTimes, but whatever moves the messages says when a
/// transfer ends.
class PlanRun {
 public:
  /// Since when the two ends of a message have been ready for it.
  struct Readiness {
    Seconds sender;
    Seconds receiver;
  };
  struct Events {
    /// The bytes of a message, or of a segment of it, may be transferred from `now` on; `number`: of the segment among those of all
    /// repeats. `ready`: only of a run that follows it.
    std::function<void(PlanOrder::Turn turn, int number, Bytes bytes, const Moment& now, const Readiness& ready,
                       std::function<void(const Moment&)> ended)>
        transfer;
    /// When what has been transferred at `now` arrives.
    std::function<Moment(PlanOrder::Turn turn, int number, Bytes bytes, const Moment& now)> arrival;
    /// When a message's sender knows what its receiver tells it at `now`; of a rendezvous.
    std::function<Moment(PlanOrder::Turn turn, const Moment& now)> notice;
    /// A rank has ended.
    std::function<void(int rank, const Moment& now)> ended;
  };

  /// `follows_readiness`: tells Events::transfer of it.
  PlanRun(const PlanOrder& order, Bytes data, bool follows_readiness, Events events, Clock& clock);
  PlanRun(const PlanRun&) = delete;
  PlanRun& operator=(const PlanRun&) = delete;

  /// A rank starts at the clock's `now`.
  void start(int rank, const Moment& now);
  bool has_ended() const { return running_ == 0; }

 private:
  /// Where a port is in its order.
  struct Position {
    std::size_t turn = 0;
    int repeat = 0;
    int segment = 0;
    int done = 0;  ///< messages
    bool busy = false;
    Seconds noticed{};  ///< when it is going to be tried again
  };
  /// Of a port, where readiness is followed.
  struct Followed {
    std::optional<Seconds> sends_since{};  ///< since when it is ready to send what comes next; none: it is not
    Seconds receives_since{};              ///< the same of receiving
  };

  const Message& message(PlanOrder::Turn turn) const;
  /// What has just ended at `now` may let it begin.
  void try_to_send(std::size_t port, const Moment& now);
  void try_all_of(int rank, const Moment& now);
  bool may_send(const Position& position, PlanOrder::Turn turn, const Message& message) const;
  /// When the receiver's notice comes; none if that is not known yet.
  std::optional<Moment> notice(const Position& receiving, PlanOrder::Turn turn) const;
  bool is_passed(const PlanOrder::Barrier& barrier, int node) const;
  Bytes size_of(PlanOrder::Turn turn) const;
  /// Of the segment that the position is at, among those of all repeats.
  int number_of(const Position& position, PlanOrder::Turn turn) const;
  void transferred(PlanOrder::Turn turn, const Moment& now);
  void arrived(PlanOrder::Turn turn, int repeat, int segment, const Moment& now);
  void count_arrival(std::size_t cell_segment, int number);
  std::size_t cell_of(int rank, int cell) const;
  void check_end(int rank, const Moment& now);
  void advance(Position& position, const std::vector<PlanOrder::Turn>& turns) const;

  const PlanOrder& order_;
  const Plan& plan_;
  Bytes part_;
  Events events_;
  Clock& clock_;
  std::vector<Position> sending_;    ///< by port
  std::vector<Position> receiving_;  ///< by port
  std::vector<Followed> followed_;   ///< by port; empty: readiness is not followed
  std::vector<char> started_;        ///< by rank
  std::vector<char> ended_;          ///< by rank
  std::size_t segments_;
  std::vector<int> arrivals_;                   ///< by rank, cell and segment: so many that no earlier one is still to come
  std::map<std::size_t, std::set<int>> early_;  ///< by rank, cell and segment: numbers of those that have overtaken another one
  std::vector<int> to_come_;                    ///< by rank: receives that have not arrived
  /// By rank and segment: what has come from other nodes.
  struct Received {
    int messages = 0;
    Moment last;
  };
  std::vector<Received> received_;
  std::vector<int> to_start_;  ///< by node: ranks
  int running_;
};

}  // namespace syncopate
