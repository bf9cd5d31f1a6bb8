#pragma once

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

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
  /// `flows`: null without them; `alone`: no other job uses the network; `windows`: of all jobs.
  JobRun(const Job& job, Network& network, Flows* flows, bool alone, Windows& windows, Clock& clock);

  const Job& job() const { return job_; }
  Clock& clock() { return clock_; }
  Recorder& recorder() { return recorder_; }
  const PassTable& passes() const { return passes_; }
  /// Throws SimulationError when the job has none.
  ParameterServer& server();
  PeerLinks& peers() { return peers_; }
  PostedValues& posted_values() { return posted_values_; }
  int simulated() const { return static_cast<int>(workers_.size()); }

  /// Body of a worker's actor.
  void run_worker(int rank);

  /// A worker begins a step at `now`; false when the whole run is over.
  bool begin_step(Worker& worker, const Moment& now);
  /// A worker that is between two steps leaves the job.
  void leave(const Worker& worker);
  /// And comes back; false when nothing is left for it to do.
  bool join(const Worker& worker);
  /// A place where a worker's model may be evaluated, for a record of the dataflow.
  void evaluate(Worker& worker) const;
  /// A worker begins a round at `now`.
  void begin_round(const Worker& worker, const Moment& now);

  /// Compute depends on what happens at the start of every layer.
  bool layer_by_layer() const { return job_.speed.overlap_slowdown > 0.0; }
  bool runs_ahead() const { return runs_ahead_; }
  bool is_channel_busy(int rank, Seconds now) const;
  /// How much of what slows overlapping layers down there is: 0 to 1.
  double channel_use(int rank, Seconds now) const;

  /// Opens or closes the measured window if it may be and a worker begins an iteration at `now`.
  void look_at_window(Seconds now);

  bool finished() const { return finished_workers_ == simulated(); }

  /// The exception that ended a worker's program, if one did.
  std::exception_ptr failure() const { return failure_; }

  /// Who waits for what, and who has ended; for a deadlock's message.
  std::string describe() const;

  /// The complete Timeline. Throws SimulationError when the measured window is empty or has no end.
  JobTimeline take_timeline();

 private:
  /// A worker has done all that the timeline tells of it.
  void finish(int rank);
  bool counts_rounds() const { return job_.steps_per_round > 0; }
  /// A worker begins its iteration number `iteration`.
  void update_window(const Worker& worker, int iteration, const Moment& moment);
  void check_progress(const Worker& worker) const;
  bool is_awaited(int rank) const;
  /// Of the collective's time, from equal starts and by itself, that in which bytes move: what is no latency, and as long at least as the
  /// busiest channel is busy.
  double share_of_bytes(const Communicator& communicator, const Post& post) const;
  /// A worker is asked for its model, and takes in what the question brings.
  Values answer_with(int worker, const PeerLinks::Model& brought);
  /// With the latency that this very message has.
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
  std::vector<std::unique_ptr<Worker>> workers_;
  PostedValues posted_values_{job_.dataflow.get()};
  mutable std::map<std::tuple<Communicator, Operation, Bytes>, double> shares_of_bytes_;
  int reached_ = 0;                   ///< iterations that the first worker has done
  int staying_ = 0;                   ///< workers that are there all the time, who make the window
  int warm_workers_ = 0;              ///< of these
  std::vector<int> begun_in_window_;  ///< per worker: iterations begun since the window opened
  std::vector<Seconds> last_begin_;   ///< per worker: of its latest iteration ...
  std::vector<int> begun_then_;       ///< ... and how many it began at that instant
  std::vector<bool> ended_;
  Moment begin_;  ///< of the latest iteration
  std::vector<bool> absent_;
  std::optional<Seconds> open_;
  bool has_measured_ = false;  ///< what it has to
  std::optional<Seconds> close_;
  Moment closing_;  ///< the same, with its cause
  int finished_workers_ = 0;
  std::exception_ptr failure_;
};

}  // namespace syncopate
