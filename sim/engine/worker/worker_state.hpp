#pragma once

#include <cstdint>

#include "engine/clock/moment.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

class JobRun;

/// What the parts of a worker share: its rank, its step and its own time. Private to the engine.
///
/// A worker's own time may run ahead of the clock within a step, since nothing can disturb compute whose length is known. It meets the
/// clock again wherever the worker blocks and at every step's boundary. Where the job does not run ahead (`--no-symmetry`), it meets the
/// clock after every piece of compute; the results are the same.
class WorkerState {
 public:
  WorkerState(JobRun& job, int rank);
  WorkerState(const WorkerState&) = delete;
  WorkerState& operator=(const WorkerState&) = delete;

  JobRun& job() const { return job_; }
  int rank() const { return rank_; }
  /// Whether the job has a record of its dataflow.
  bool is_recorded() const { return is_recorded_; }

  /// The current gradient step, from 0; -1 before the first one.
  int step() const { return step_; }
  int steps_since_post() const { return steps_since_post_; }
  /// How often the worker has posted something.
  std::int64_t posts() const { return posts_; }
  void begin_step() {
    ++step_;
    ++steps_since_post_;
  }
  /// Notes that the worker has handed over `posts` messages or collectives of `bytes`, for which its link sends `sent`.
  void count_post(int posts, Bytes bytes, Bytes sent);

  /// The worker's own time, with its cause.
  const Moment& moment() const { return now_; }
  Seconds now() const { return now_.time; }
  /// The own time becomes `time`.
  void set(Moment time) { now_ = std::move(time); }
  /// Likewise, and meets the clock where the job does not run ahead.
  void advance_to(Moment time);
  /// The worker is back at `time`; what it did until then belongs to no phase.
  void come_back_at(Moment time);
  /// The worker was blocked until `end`, which may lie in the past.
  void unblock(const Moment& end);
  /// What has not been recorded yet, until now, was `phase`.
  void record(Phase phase);

  /// Blocks until the clock has reached the own time.
  void meet_clock() const;
  /// Blocks until everything that others post at this instant, but for rounding errors, has been posted and has started where it may.
  void let_others_post() const;

 private:
  JobRun& job_;
  int rank_;
  bool is_recorded_;
  int step_ = -1;
  int steps_since_post_ = 0;
  std::int64_t posts_ = 0;
  Moment now_;
  Seconds recorded_;  ///< the phases until then are recorded
};

}  // namespace syncopate
