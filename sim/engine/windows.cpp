#include "engine/windows.hpp"

#include <algorithm>

#include "engine/job_run.hpp"

namespace syncopate {

bool Windows::all_finished() const {
  return std::all_of(jobs_.begin(), jobs_.end(), [](const JobRun* job) { return job->finished(); });
}

void Windows::warmed_up(Seconds now) {
  ++warm_;
  if (!may_open()) return;
  for (JobRun* job : jobs_) job->look_at_window(now);
}

void Windows::measured(Seconds now) {
  ++done_;
  if (!may_close()) return;
  for (JobRun* job : jobs_) job->look_at_window(now);
}

}  // namespace syncopate
