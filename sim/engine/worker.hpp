#pragma once

#include <functional>
#include <simgrid/s4u/Actor.hpp>
#include <span>
#include <vector>

#include "engine/speed.hpp"
#include "engine/stream.hpp"
#include "timeline/timeline.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

class JobRun;

/// One simulated worker, as a schedule sees it: an actor on SimGrid's clock that computes, posts and waits.
///
/// A worker's own time may run ahead of SimGrid's clock within a step, since nothing can disturb compute whose length is
/// known; it meets the clock again wherever it blocks and at every step's boundary. Switched off (`--no-symmetry`), the
/// worker meets the clock after every bit of compute; the results are the same.
class Worker {
 public:
  Worker(JobRun& job, int rank) : job_(job), rank_(rank) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  int rank() const { return rank_; }
  int ranks() const;                  ///< of the whole job
  int step() const { return step_; }  ///< of the current gradient step, from 0
  Seconds now() const { return now_; }

  /// Begins the next gradient step. False when the run is over: the program must then return.
  bool next_step();

  /// Forward work of all layers, or of the next one; `layer` counts from 0.
  /// Throws SimulationError when it is not the next.
  void forward();
  void forward(std::size_t layer);

  /// Backward work until `ready` after backward began, as an undisturbed worker would count it.
  void backward_until(Seconds ready);
  /// Backward work until the end of backward.
  void backward();

  /// Hands a collective to the Stream; does not block.
  Handle post(const SharedPayload& payload, int round, double priority = 0.0);

  /// Blocks until the collective has ended.
  void wait(Handle handle);
  /// Blocks until all of them have ended.
  void wait(std::span<const Handle> handles);

  /// The optimiser's step, which applies gradients that others computed in `gradient_step`; the difference to the
  /// worker's own step is the update's staleness.
  void update(int gradient_step);

 private:
  friend class JobRun;

  /// Everything since the last call until `now_` was `phase`.
  void record(Phase phase);
  void record_layers(Phase phase, Seconds start, double factor, std::size_t first = 0);
  void advance_to(Seconds time);
  void meet_clock() const;
  bool is_shown() const;  ///< by a timeline

  JobRun& job_;
  int rank_;
  int step_ = -1;
  int steps_since_post_ = 0;
  double factor_ = 1.0;
  Seconds now_;
  Seconds recorded_;
  Seconds forward_done_;  ///< of the current step's forward, undisturbed
  std::size_t next_layer_ = 0;
  Seconds backward_start_;
  bool in_backward_ = false;
};

/// What runs on every worker of a job: a schedule, as sequential text.
using Program = std::function<void(Worker&)>;

}  // namespace syncopate
