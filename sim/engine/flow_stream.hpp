#pragma once

#include <map>
#include <memory>
#include <optional>

#include "engine/flows.hpp"
#include "engine/message_stream.hpp"
#include "engine/plan_run.hpp"

namespace syncopate {

/// A Stream whose collectives are the messages of a Plan, event by event: flows that share the network's links with each other and
/// with whatever else moves (flow fidelity); or messages that have their links for themselves, but wait for the channels of their
/// two ends, which collectives in flight take in the order in which they are ready (per-message fidelity, pipelined).
class FlowStream : public Stream {
 public:
  /// `flows`: null if messages have links for themselves. `shortcuts`: messages that cannot meet others on a full link are timers, and a
  /// collective of which all ranks start and end at once, alone in the network, moves only the first time (`alone`: nothing but
  /// this Stream uses the network, which does not change with time).
  /// A poster stands for all ranks if there is only one: without flows, of symmetric plans (see fold).
  FlowStream(int index, int posters, StreamRules rules, PlannedCollectives& planned, Flows* flows, LatencyFactor latency_factor,
             bool shortcuts, bool alone);
  ~FlowStream() override;

  bool is_busy(int poster, Seconds time) const override;

 private:
  struct Run {
    std::unique_ptr<PlanRun> run;
    PlannedCollective* collective = nullptr;
    double latency_factor = 1.0;
    Seconds first_start;
    Seconds last_start;
    bool equal_starts = true;
    int to_start = 0;  ///< ranks
  };

  void posted(Handle handle, int poster, Seconds at_time) override;
  void note_unfinished() override;
  void start_next(int rank, Seconds now);
  void start(Handle handle, int rank, Seconds now);
  Run& begin(Handle handle, Seconds now);
  bool transfer(Run& run, PlanOrder::Turn turn, Bytes bytes, std::function<void(Seconds)> ended);
  void free_channels(int sender, int receiver, Seconds now);
  void rank_ended(Handle handle, int rank, Seconds now);
  /// The whole collective, if it is known how long it takes and all ranks start it now.
  bool recall(Handle handle, Seconds now);
  void end_recalled(Handle handle, Seconds now);
  const PlanOrder& order_of(const PlannedCollective& collective);
  bool can_share(const PlannedCollective& collective, const Message& message) const;

  StreamRules rules_;
  PlannedCollectives& planned_;
  Flows* flows_;
  LatencyFactor latency_factor_;
  bool shortcuts_;
  bool alone_;
  std::vector<Handle> next_start_;  ///< by rank: the collective that it starts next ...
  std::vector<Handle> available_;   ///< ... if it is before this one
  std::vector<int> taking_part_;    ///< by rank: in so many collectives
  std::map<Handle, Run> runs_;
  std::vector<std::unique_ptr<PlanRun>> done_;  ///< whose last event may still be under way
  std::vector<char> sending_;                   ///< by rank and level, where messages have links for themselves
  std::vector<char> receiving_;
  std::map<const PlannedCollective*, PlanOrder> orders_;
  std::map<std::tuple<Operation, Bytes, double>, Seconds> known_;  ///< from equal starts to equal ends, alone
};

}  // namespace syncopate
