#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/units.hpp"
#include "engine/worker/channel_use.hpp"
#include "engine/worker/collectives.hpp"
#include "engine/worker/node_gpus.hpp"
#include "engine/worker/pass.hpp"
#include "engine/worker/peers.hpp"
#include "engine/worker/servers.hpp"
#include "engine/worker/speed.hpp"
#include "engine/worker/worker_dataflow.hpp"
#include "engine/worker/worker_state.hpp"

namespace syncopate {

/// One simulated worker, as a schedule's program sees it: it computes step by step, and its parts communicate. It is a rank of the
/// schedule: one GPU, or all GPUs of a node or region.
///
/// | part | what it does |
/// |---|---|
/// | `collectives()` | posts all-reduces and other collectives, waits for them |
/// | `servers()` | pushes to parameter servers and pulls from them |
/// | `peers()` | sends messages to other workers and receives them |
/// | `node()` | all-reduces and spreads among the GPUs that are one worker |
/// | `dataflow()` | model, gradient and optimiser, where a record of the dataflow wants them |
class Worker {
 public:
  /// `streams`: for each row of the job's streams, the one of the worker's group.
  Worker(JobRun& job, int rank, std::vector<Stream*> streams);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Collectives& collectives() { return collectives_; }
  Servers& servers() { return servers_; }
  Peers& peers() { return peers_; }
  NodeGpus& node() { return node_; }
  WorkerDataflow& dataflow() { return dataflow_; }

  int rank() const { return state_.rank(); }
  int ranks() const;                          ///< of the whole job
  int step() const { return state_.step(); }  ///< the current gradient step, from 0
  Seconds now() const { return state_.now(); }

  /// Begins the next gradient step; a worker that is absent waits until it is back. False when the run is over: the program must then
  /// return.
  bool next_step();
  /// Whether this step is the first one after an absence.
  bool has_joined() const { return has_joined_; }
  /// Begins the next round, in a schedule whose iterations are rounds.
  void begin_round();

  // Compute: whole passes, or layer by layer. A layer counts from 0, from the network's input. The two mix: a whole pass is what is left of
  // it, and a layer that a pass has gone beyond is done.

  void forward();
  /// Throws SimulationError when the layer is not the next one of the pass.
  void forward(std::size_t layer);

  void backward();
  void backward(std::size_t layer);
  /// Goes on with backward until `ready` after its begin, as an undisturbed worker counts.
  void backward_until(Seconds ready);

  /// The optimiser's step: all of it, or what is left of it.
  void update();
  /// One layer's share of it, by bytes; in any order, each layer once a step.
  void update(std::size_t layer);
  /// A piece of it that takes an undisturbed worker `length`.
  void update_for(Seconds length);
  /// When such a piece ends that begins at `start`.
  Seconds end_of_update(Seconds start, Seconds length) const;
  /// Blocks until such an `end`.
  void update_until(Seconds end);

  /// Work for the sake of communication, such as compression: takes `time` on every worker.
  void spend(Seconds time);

  // What the program tells the record of the run; takes no time.

  /// What others computed in `gradient_step` enters the parameters now: the update's staleness is the worker's own step minus that.
  void apply(int gradient_step);
  /// The same of a model that has been averaged over the ranks, and was posted at the end of step `posted`. `waited`: for the average's
  /// end.
  void mix(int posted, bool waited);
  /// From now on the worker holds so many more bytes of parameters beside its own share; fewer where `bytes` is negative.
  void hold(Bytes bytes);

  /// A random number, uniform in (0, 1), for this rank and step.
  double draw() const;

 private:
  friend class JobRun;

  /// Waits while the worker is absent. False when the run is over for it.
  bool wait_until_present();
  /// Whether the worker is never absent.
  bool stays() const { return absences_.empty(); }
  void begin_forward();

  /// Goes on with a pass until so much of it is done.
  void run_until(Pass& pass, Seconds done);
  void run_layer(Pass& pass, std::size_t layer);
  /// Goes on with a pass, of which so much is done at `end`, unless the worker gives up its step before.
  void reach(Pass& pass, Seconds done, Seconds end);
  /// The factor on what this rank begins at `time`: the largest of its GPUs.
  double slowness(Phase phase, Seconds time) const;
  /// Begins the pass, unless it has begun in this step.
  void begin(Pass& pass);
  /// Begins the layers of a pass one by one until so much is done, because communication may slow each of them.
  void begin_layers_until(Pass& pass, Seconds done);
  /// Learns the channel's use for a layer that starts now, or when a pause ends, unless it is still known.
  void learn_channel_use();
  /// The `end` of a piece of a pass, or of the update, with its cause.
  Moment end_of(const Pass& pass, Seconds done, Seconds end) const;
  Moment end_of_update_piece(Seconds length, Seconds end) const;
  /// Records the layers of a pass that have ended.
  void record_layers(Pass& pass);

  JobRun& job_;
  WorkerState state_;
  Collectives collectives_;
  Servers servers_;
  Peers peers_;
  NodeGpus node_;
  WorkerDataflow dataflow_;

  std::vector<Pause> pauses_;
  std::vector<Absence> absences_;
  bool has_joined_ = false;
  int round_ = -1;
  double slowness_ = 1.0;  ///< factor on the pass that began last ...
  double factor_ = 1.0;    ///< ... with this step's jitter
  ChannelUse channel_use_;
  std::int64_t posts_before_use_ = 0;  ///< that the worker had made when that was learned
  const OwnStep* own_;                 ///< null: the job's times
  Pass forward_;
  Pass backward_;
  Seconds updated_;                   ///< how much of this step's update is done, layer by layer, as an undisturbed worker counts
  std::vector<int> updated_in_step_;  ///< by layer: the last step in which it was updated by itself
};

/// What runs on every worker of a job: a schedule, as sequential text.
using Program = std::function<void(Worker&)>;

}  // namespace syncopate
