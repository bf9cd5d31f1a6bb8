#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "base/indexed.hpp"
#include "cluster/planned.hpp"
#include "engine/clock/clock.hpp"
#include "engine/network/channels.hpp"
#include "engine/network/flows.hpp"
#include "engine/network/latency.hpp"
#include "engine/streams/plan_run.hpp"
#include "engine/streams/transport.hpp"
#include "timeline/message_log.hpp"

namespace syncopate {

/// A collective is the messages of its plan, event by event. In flow fidelity they are flows, which share the network's links with all
/// other flows. In per-message fidelity they have their links to themselves; where several collectives are in flight, their messages take
/// turns on the ranks' Channels.
class MessageTransport : public Transport {
 public:
  struct Options {
    bool overlaps = false;   ///< several collectives may be in flight at a rank
    bool shortcuts = false;  ///< a message that cannot meet others on a full link is a timer; a collective that all ranks start and end at
                             ///< once, alone in the network, moves only the first time
    bool is_alone = false;   ///< nothing else uses the network, which does not change
    bool changes = false;    ///< latencies change with time
    std::uint32_t stream = 0;
    MessageLog* log = nullptr;  ///< keeps messages, unless there is only one lane
  };

  /// `flows`: null if messages have links to themselves. `lanes`: if there is only one, it stands for all ranks: without flows, for
  /// symmetric plans (see fold).
  MessageTransport(int lanes, Communicator communicator, PlannedCollectives& planned, Flows* flows, LatencyFactor latency_factor,
                   MessageLatency latency, const Options& options, Clock& clock);
  ~MessageTransport() override;

  int lanes() const override { return lanes_; }
  bool goes_on_at_once() const override { return !options_.shortcuts; }
  std::optional<Moment> start(const Movement& movement, int lane, const Moment& now) override;
  std::optional<Moment> recall(const Movement& movement, const Moment& now) override;

 private:
  struct LoggedMessage {
    CollectiveMessage message;
    std::vector<RateChange> changes{};
  };
  using Messages = std::vector<LoggedMessage>;
  /// A collective that is alone in the network, from equal starts to equal ends.
  struct Known {
    Seconds length;
    std::shared_ptr<const std::vector<PathPiece>> pieces;  ///< where causes are recorded
    std::shared_ptr<const Messages> messages{};            ///< where a log keeps messages
    Seconds start{};                                       ///< of these
  };
  struct Run {
    std::unique_ptr<PlanRun> run;
    PlannedCollective* collective = nullptr;
    Movement movement;
    double latency_factor = 1.0;
    Seconds first_start;
    bool equal_starts = true;
    std::optional<Seconds> first_end{};    ///< when the first lane has ended
    bool is_kept = false;                  ///< its messages are, in the log
    std::shared_ptr<Messages> messages{};  ///< where the collective may be known from then on, and a log keeps messages
  };

  Run& begin(const Movement& movement, Seconds now);
  using Ended = std::function<void(const Moment&)>;
  void transfer(Run& run, PlanOrder::Turn turn, int number, Bytes bytes, const Moment& ready, Watched* watched, Ended ended);
  /// Of a run whose messages are kept.
  void transfer_kept(Run& run, PlanOrder::Turn turn, int number, Bytes bytes, const Moment& ready, const PlanRun::Readiness& readiness,
                     Ended ended);
  int narrowest_link(int from, int to) const;
  /// Whether the messages of a collective that begins are kept.
  bool may_keep(const Plan& plan) const;
  /// Whether one that is alone has the same ends again.
  bool recalls() const { return options_.shortcuts && options_.is_alone && !options_.overlaps; }
  /// Keeps the messages of a collective that is known, and starts now.
  void log_again(const Known& known, const Movement& movement, Seconds now);
  void lane_ended(Ticket ticket, int lane, const Moment& now);
  /// Of a message that begins to wait for it at the clock's time.
  Seconds latency(const Run& run, PlanOrder::Turn turn, int number) const;
  Moment arrival(const Run& run, PlanOrder::Turn turn, int number, Bytes bytes, const Moment& now) const;
  Moment notice(const Run& run, PlanOrder::Turn turn, const Moment& now) const;
  /// `usual`: of a latency, the mean of the message's way.
  Why why(PathClass kind, const Run& run, PlanOrder::Turn turn, Seconds usual = Seconds(0)) const;
  const PlanOrder& order_of(const PlannedCollective& collective);

  int lanes_;
  Communicator communicator_;
  PlannedCollectives& planned_;
  Flows* flows_;
  LatencyFactor latency_factor_;
  MessageLatency latencies_;
  Options options_;
  Clock& clock_;
  std::map<Ticket, Run> runs_;
  std::vector<std::unique_ptr<PlanRun>> done_;  ///< collectives that have ended, whose last event may still be under way
  std::optional<Channels> channels_;            ///< by lane and level, to other nodes and inside: where messages take turns
  std::map<const PlannedCollective*, PlanOrder> orders_;
  using KnownBy = std::tuple<Operation, Bytes, double, Seconds>;
  KnownBy known_by(const Movement& movement) const {
    return {movement.operation, movement.bytes(), latency_factor_(movement.ticket), host_time(movement)};
  }
  std::map<KnownBy, Known> known_;
  double known_messages_ = 0.0;  ///< of all that are known
};

}  // namespace syncopate
