#pragma once

#include <functional>
#include <simgrid/s4u/Actor.hpp>
#include <span>
#include <vector>

#include "engine/parameter_server.hpp"
#include "engine/speed.hpp"
#include "engine/stream.hpp"
#include "timeline/timeline.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

class JobRun;

/// One simulated worker, as a schedule sees it: an actor on SimGrid's clock that computes, communicates and waits. It is a
/// rank of the schedule: one GPU, or all GPUs of a node.
///
/// A worker's own time may run ahead of SimGrid's clock within a step, since nothing can disturb compute whose length is
/// known; it meets the clock again wherever it blocks and at every step's boundary. Switched off (`--no-symmetry`), the
/// worker meets the clock after every bit of compute; the results are the same.
class Worker {
 public:
  Worker(JobRun& job, int rank);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  int rank() const { return rank_; }
  int ranks() const;                  ///< of the whole job
  int step() const { return step_; }  ///< of the current gradient step, from 0
  Seconds now() const { return now_; }

  /// Begins the next gradient step. False when the run is over: the program must then return.
  bool next_step();

  /// Begins the next round, in a schedule whose iterations are rounds.
  void begin_round();

  // Compute

  /// Forward work of all layers, or of the next one; `layer` counts from 0.
  /// Throws SimulationError when it is not the next.
  void forward();
  void forward(std::size_t layer);

  /// Backward work until `ready` after backward began, as an undisturbed worker would count it.
  void backward_until(Seconds ready);
  /// Backward work until the end of backward.
  void backward();

  /// The optimiser's step.
  void update();
  /// Notes that what others computed in `gradient_step` enters the parameters now; the difference to the worker's own step is
  /// the update's staleness. Takes no time.
  void apply(int gradient_step);
  /// The same for a model that has been averaged over the ranks; it had been posted at the end of step `posted`.
  void mix(int posted);

  /// Work for the sake of communication, such as compression: lasts `time` on every worker.
  void spend(Seconds time);

  // All-reduce

  /// Hands a collective to the Stream; does not block.
  Handle post(const SharedPayload& payload, int round, double priority = 0.0, Operation operation = Operation::all_reduce);
  /// Whether the collective has ended by now; one that ends just now has.
  bool has_ended(Handle handle);
  /// Blocks until the collective has ended.
  void wait(Handle handle);
  /// Blocks until all of them have ended.
  void wait(std::span<const Handle> handles);

  /// The GPUs of this node add up their gradients. Nothing to do for a single one.
  void all_reduce_within_node(const SharedPayload& payload);

  // Parameter server

  /// Hands a push to the server, and the pull that answers it; does not block.
  Exchange push(const SharedPayload& payload, int round, Answer answer);
  /// Asks the server for parameters; does not block.
  Exchange pull(const SharedPayload& payload, int round);
  /// Blocks until the pull is in or, where there is none, until the server has handled the push.
  void wait(Exchange exchange);
  void wait(std::span<const Exchange> exchanges);

  // Messages from worker to worker

  /// Hands a message to the own link, of which the receiver knows the round; does not block.
  void send(const SharedPayload& payload, int to, int round);
  /// Blocks until the message of that round has arrived.
  void receive(int round);

 private:
  friend class JobRun;

  Step& current_step();
  void count_post(const SharedPayload& payload, int posts);
  /// Everything since the last call until `now_` was `phase`.
  void record(Phase phase);
  void record_layers(Phase phase, Seconds start, std::size_t first = 0);
  void record_layer(Phase phase, std::size_t layer, Seconds start);
  /// Blocked since `now_`; `end` may lie in the past.
  void unblock(Seconds end);
  void advance_to(Seconds time);
  void meet_clock() const;
  bool is_shown() const;  ///< by a timeline
  /// The factor of a layer that starts now.
  double layer_factor();
  /// Layer by layer, because each may be slowed by communication.
  void backward_by_layers_until(Seconds ready);

  JobRun& job_;
  int rank_;
  std::vector<Pause> pauses_;
  double slowness_;  ///< on its update
  int step_ = -1;
  int round_ = -1;
  int steps_since_post_ = 0;
  double factor_ = 1.0;  ///< of this step's compute
  Seconds now_;
  Seconds recorded_;
  Seconds forward_done_;  ///< of the current step's forward, undisturbed
  std::size_t next_layer_ = 0;
  bool in_backward_ = false;
  Seconds backward_done_;           ///< undisturbed
  Seconds anchor_time_;             ///< from here on backward goes on without a break ...
  Seconds anchor_done_;             ///< ... with so much done ...
  double anchor_factor_ = 1.0;      ///< ... at this factor
  std::size_t backward_layer_ = 0;  ///< by layers: how many have begun, from the last
  Seconds backward_layer_end_;      ///< undisturbed
  Seconds layer_start_;
};

/// What runs on every worker of a job: a schedule, as sequential text.
using Program = std::function<void(Worker&)>;

}  // namespace syncopate
