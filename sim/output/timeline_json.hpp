#pragma once

#include <string>
#include <vector>

#include "scenario/scenario.hpp"
#include "timeline/timeline.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

/// A piece of the critical path, for people.
struct PathSlice {
  Interval time;
  std::string name;
  int worker = -1;  ///< -1: none
};

/// A timeline in the Chrome trace-event format, which Perfetto and chrome://tracing open: a process per shown worker, a
/// track for its compute and one for its Stream. Slices on a track nest; times are whole nanoseconds.
/// `path`: of a run that has recorded causes, in the order of time; a process of its own.
std::string timeline_json(const JobTimeline& timeline, const StepProfile& profile, const Point& point, int shown_workers,
                          const std::vector<PathSlice>& path = {});

}  // namespace syncopate
