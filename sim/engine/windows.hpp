#pragma once

#include <cstddef>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

class JobRun;

/// When jobs that run together are measured: all while all of them train.
///
/// Windows open as soon as every job has done its warm-up. They close as soon as every job has done its measured iterations. Each window
/// opens and closes at its job's next iteration. Until then all jobs go on, so that a job that is done first still loads the network.
/// Private to the engine.
class Windows {
 public:
  void add(JobRun& job) { jobs_.push_back(&job); }

  bool may_open() const { return warm_ == jobs_.size(); }
  bool may_close() const { return done_ == jobs_.size(); }
  bool all_finished() const;

  /// A job has done its warm-up. If it is the last one, windows of jobs that begin an iteration just then open.
  void warmed_up(Seconds now);
  /// A job has done its measured iterations. If it is the last one, windows of jobs that begin an iteration just then close.
  void measured(Seconds now);

 private:
  std::vector<JobRun*> jobs_;
  std::size_t warm_ = 0;
  std::size_t done_ = 0;
};

}  // namespace syncopate
