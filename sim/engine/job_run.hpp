#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/simulate.hpp"
#include "engine/stream.hpp"
#include "engine/worker.hpp"

namespace syncopate {

/// One job while it runs: its workers, its Stream and its measured window. Private to the engine.
class JobRun {
 public:
  explicit JobRun(const Job& job);

  const Job& job() const { return job_; }
  Stream& stream() { return stream_; }
  JobTimeline& timeline() { return timeline_; }
  int simulated() const { return static_cast<int>(workers_.size()); }

  /// Body of a worker's actor.
  void run_worker(int rank);

  /// A worker begins a step at `now`; false when the whole run is over.
  bool begin_step(Worker& worker, Seconds now);

  bool finished() const { return finished_workers_ == simulated(); }

  /// The exception that ended a worker's program, if one did.
  std::exception_ptr failure() const { return failure_; }

  /// Who waits for what, and who has ended; for a deadlock's message.
  std::string describe() const;

  /// The complete Timeline. Throws SimulationError when the measured window is empty.
  JobTimeline take_timeline();

 private:
  void update_window(const Worker& worker, Seconds now);
  void check_progress(const Worker& worker) const;

  const Job& job_;
  Stream stream_;
  std::vector<std::unique_ptr<Worker>> workers_;
  JobTimeline timeline_;
  int warm_workers_ = 0;
  std::vector<int> steps_in_window_;  ///< per worker: steps begun since the window opened
  std::vector<bool> ended_;
  std::vector<bool> past_window_;
  std::optional<Seconds> open_;
  std::optional<Seconds> close_;
  int finished_workers_ = 0;
  std::exception_ptr failure_;
};

}  // namespace syncopate
