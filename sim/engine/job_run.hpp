#pragma once

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/indexed.hpp"
#include "engine/clock/clock.hpp"
#include "engine/network/flows.hpp"
#include "engine/network/latency.hpp"
#include "engine/network/peer_links.hpp"
#include "engine/servers/parameter_server.hpp"
#include "engine/simulate.hpp"
#include "engine/streams/posted_values.hpp"
#include "engine/streams/stream.hpp"
#include "engine/windows.hpp"
#include "engine/worker/worker.hpp"
#include "timeline/recorder.hpp"

namespace syncopate {

/// One job while it runs: its workers, its streams and its measured window. Private to the engine.
class JobRun {
 public:
  /// `flows`: null where nothing moves as flows. `alone`: no other job uses the network. `windows`: of all jobs.
  JobRun(const Job& job, Network& network, Flows* flows, bool alone, Windows& windows, Clock& clock);

  const Job& job() const { return job_; }
  Clock& clock() { return clock_; }
  Recorder& recorder() { return recorder_; }
  const PassTable& passes() const { return passes_; }
  /// Throws SimulationError when the job has none.
  ParameterServer& server();
  PeerLinks& peers() { return peers_; }
  PostedValues& posted_values() { return posted_values_; }
  /// How many workers are simulated.
  int simulated() const { return static_cast<int>(workers_.size()); }

  /// Body of a worker's actor.
  void run_worker(int rank);

  /// A worker begins its next step now; false when the whole run is over.
  bool begin_step(Worker& worker);
  /// A worker that is between two steps leaves the job.
  void leave(const Worker& worker);
  /// A worker comes back; false when nothing is left for it to do.
  bool join(const Worker& worker);
  /// A worker begins a round now.
  void begin_round(const Worker& worker);
  /// Notes in the record of the dataflow that a worker's model may be evaluated now.
  void evaluate(const WorkerState& worker, Replica& replica) const;

  /// Whether compute depends on what happens at the start of every layer.
  bool layer_by_layer() const { return job_.speed.overlap_slowdown > 0.0; }
  /// Whether workers' own times may be ahead of the clock within a step.
  bool runs_ahead() const { return runs_ahead_; }
  /// As a rank has it now, at the clock's time.
  ChannelUse channel_use(int rank, Seconds now) const;

  /// Opens or closes the measured window, where it may be opened or closed and a worker begins an iteration at `now`.
  void look_at_window(Seconds now);

  bool finished() const { return finished_workers_ == simulated(); }

  /// The exception that ended a worker's program, if any did.
  std::exception_ptr failure() const { return failure_; }

  /// Who waits for what, and who has ended; for a deadlock's message.
  std::string describe() const;

  /// The complete Timeline. Throws SimulationError when the measured window is empty or has no end.
  JobTimeline take_timeline();

 private:
  /// The timeline tells no more of this worker.
  void finish(int rank);
  bool counts_rounds() const { return job_.steps_per_round > 0; }
  /// A worker begins its iteration number `iteration` now.
  void update_window(const Worker& worker, int iteration);
  void check_progress(const Worker& worker) const;
  bool is_channel_busy(int rank, Seconds now) const;
  /// Whether a rank's channel is idle now, and stays so until the rank posts.
  bool is_channel_idle(int rank, Seconds now) const;
  double share_of_channel(int rank, Seconds now) const;
  bool is_awaited(int rank) const;
  /// The share of the time of a collective, alone and from equal starts, in which bytes move: all but its latency, and at least as long as
  /// the busiest channel is busy.
  double share_of_bytes(const Communicator& communicator, const Post& post) const;
  /// A worker answers with its model, which becomes the mean with what the question brings.
  Values answer_with(int rank, const PeerLinks::Model& brought);
  /// The message's time, with the latency that is drawn for it.
  CollectiveTime time_of(const PeerLinks::Message& message, Network& network) const;
  Seconds mean_latency_of(const PeerLinks::Message& message, Network& network) const;

  const Job& job_;
  Windows& windows_;
  Clock& clock_;
  PassTable passes_;
  bool runs_ahead_;
  Recorder recorder_;
  std::vector<std::unique_ptr<Stream>> streams_;
  PeerLinks peers_;
  std::optional<ParameterServer> server_;
  Indexed<std::unique_ptr<Worker>> workers_;  ///< by rank
  PostedValues posted_values_{job_.dataflow.get()};
  mutable std::map<std::tuple<Communicator, Operation, Bytes, Seconds>, double> shares_of_bytes_;  ///< with the host's time

  double steps_ = 0.0;  ///< begun by all workers

  // The measured window:
  int reached_ = 0;                   ///< iterations that the first worker has done
  int staying_ = 0;                   ///< workers that are never absent, who make the window
  int warm_workers_ = 0;              ///< of these, how many have left their warm-up
  Indexed<int> begun_in_window_;      ///< per worker: iterations begun since the window opened
  Indexed<Seconds> last_begin_;       ///< per worker: when its latest iteration began ...
  Indexed<int> begun_at_last_begin_;  ///< ... and how many it began at that instant
  Indexed<char> ended_;               ///< per worker: its program has returned
  Indexed<char> absent_;              ///< per worker
  Moment begin_;                      ///< of the latest iteration
  std::optional<Seconds> open_;       ///< when the window opened
  bool has_measured_ = false;         ///< the job has done its measured iterations
  std::optional<Seconds> close_;      ///< when the window closed
  Moment closing_;                    ///< the same, with its cause
  int finished_workers_ = 0;
  std::exception_ptr failure_;
};

}  // namespace syncopate
