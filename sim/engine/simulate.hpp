#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cluster/network.hpp"
#include "cluster/planned.hpp"
#include "dataflow/dataflow.hpp"
#include "engine/simgrid/network_model.hpp"
#include "engine/worker/speed.hpp"
#include "engine/worker/worker.hpp"
#include "timeline/message_log.hpp"
#include "timeline/timeline.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

/// How collectives move, for each fidelity.
struct AlphaBeta {
  /// Of a collective alone, or of one that is queued: that starts the moment another one ends.
  std::function<CollectiveTime(Operation, const Communicator&, Bytes, bool queued)> cost;
  /// The pieces of that time: pieces of latency, and others that add up to the transfer.
  std::function<std::vector<PathPiece>(Operation, const Communicator&, Bytes, bool queued)> pieces{};
};
struct PerMessage {
  PlannedCollectives* planned = nullptr;
};
struct PerFlow {
  PlannedCollectives* planned = nullptr;
  std::optional<SimGridModel> simgrid{};  ///< messages are communications in SimGrid; the same for all jobs
};
using NetworkModel = std::variant<AlphaBeta, PerMessage, PerFlow>;

/// A row of a job's streams: every group of ranks has a stream of its own for its collectives.
struct StreamSetup {
  std::vector<Communicator> groups;  ///< without common ranks
  StreamRules rules{};
  std::vector<Operation> operations{};  ///< that programs may post; empty: any
  bool follows = false;                 ///< its collectives follow those of other streams (PostOptions::after)
};

/// Whether the stream's collectives move message by message. Otherwise a recurrence gives the times of all messages of a collective once
/// its last rank has posted. Of no effect in alpha-beta fidelity and for partial collectives, which are closed forms.
bool moves_by_message(const StreamSetup& stream, bool as_flows, bool draws_latencies);

/// One training job on the cluster.
struct Job {
  Network* network = nullptr;  ///< its share of the network, whose links have the same numbers for all jobs; null: the whole of it
  Seconds start;               ///< when its workers begin
  Program program;
  StepProfile profile;
  Speed speed;
  int ranks = 1;                                      ///< how many run the program
  int gpus_per_rank = 1;                              ///< GPUs that a rank stands for: the slowest of them makes the pace
  std::vector<std::shared_ptr<const OwnStep>> own{};  ///< by rank: its times, where they are not the profile's (null); empty: nowhere

  NetworkModel model;
  std::vector<StreamSetup> streams;                                ///< the first is the one that programs use unless they say otherwise
  bool draws_latencies = true;                                     ///< each message's latency is drawn, where the network's vary; else mean
  HostTime host;                                                   ///< of a rank, for each collective that it starts
  double latency_cv = 0.0;                                         ///< coefficient of variation of a factor on each collective's latency
  CostLine within_node;                                            ///< an all-reduce among the GPUs of a rank
  std::function<CollectiveTime(int from, int to, Bytes)> message;  ///< from rank to rank, over the sender's own link
  std::optional<ServerSetup> servers;                              ///< parameter servers, if there are any
  bool sends_more = false;                                         ///< its workers send also to peers or servers
  bool asks_peers = false;                                         ///< ... and may ask peers, whose links answer (Peers::exchange)

  int warmup = 0;                                               ///< iterations before a worker has left its warm-up
  int measured = 1;                                             ///< >= 1, iterations that the first worker has to do in the measured window
  int cycle = 1;                                                ///< >= 1, of which the measured ones are a multiple
  double most_steps = std::numeric_limits<double>::infinity();  ///< gradient steps of all simulated workers, after which it is an error
  bool updates_in_forward = false;  ///< the next step's forward updates the model, which is not complete at a step's end
  int steps_per_round = 0;          ///< > 0: iterations are rounds, of at most so many steps; else steps
  bool lockstep = false;            ///< one simulated worker stands for all ranks: only for equal workers whose every wait is
                                    ///< for something that all of them do
  bool run_ahead = true;            ///< workers may run ahead of the clock within a step
  bool shortcuts = true;            ///< collectives whose times are known from before are not simulated again
  bool goes_on = true;              ///< workers begin further steps after the window until all have left it; else each stops
  bool records_causes = false;      ///< for the timeline's critical path
  bool keeps_messages = false;      ///< in the timeline: those between two workers, or with servers
  std::optional<MessageLog> collective_messages{};  ///< keeps, in the timeline, messages of collectives that move one by one
  std::vector<int> shown_workers;                   ///< simulated ones, for which per-layer spans are kept
  std::shared_ptr<ShownTime> shown_time{};          ///< of one simulation: when something of it is shown; null: always
  std::shared_ptr<Dataflow> dataflow{};  ///< records what is computed from what; needs every worker simulated, and none that runs ahead
  std::function<void(int iteration)> on_iteration{};  ///< called when the first worker begins it

  /// How many workers are simulated: one for all of the job's ranks, or one for each.
  int simulated() const { return lockstep ? 1 : ranks; }
};

/// Runs the jobs until every worker has finished the step in which its job's measured window closed; what is in flight then is cancelled.
/// Windows of several jobs open when all of them have done their warm-up, and close when all have done their measured iterations, each at
/// its job's next iteration; until then all go on. Throws SimulationError, which says who waits for what, when a program deadlocks, ends
/// early, disagrees with other ranks' or makes no progress.
///
/// Several workers are actors: after a deadlock, no more of them can be simulated in the process (see can_run_actors).
Timeline simulate(const std::vector<Job>& jobs, Network& network);

/// The version of SimGrid, whose actors workers are: "3.32".
std::string simgrid_version();

}  // namespace syncopate
