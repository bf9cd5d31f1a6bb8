#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenario/scenario.hpp"
#include "timeline/timeline.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

/// What of a run a timeline shows, and how its file is written.
struct TimelineView {
  /// From 0 on, of the steps that a worker begins in the measured window.
  struct Iterations {
    int first = 0;
    int last = 0;
  };
  std::vector<int> ranks{};                ///< GPUs, ascending; empty: the first 8 simulated workers
  std::optional<Iterations> iterations{};  ///< else the whole run, warm-up included
  bool compressed = false;                 ///< as gzip

  /// The simulated workers that are shown, ascending: of so many, each of which stands for so many GPUs.
  std::vector<int> workers(int simulated, int gpus) const;
};

/// A piece of the critical path, for people.
struct PathSlice {
  Interval time;
  std::string name;
  int worker = -1;        ///< -1: none
  bool computes = false;  ///< the worker does
};

/// A timeline in the Chrome trace-event format, which Perfetto and chrome://tracing open: a process per shown worker, a track for its
/// compute and one for its Stream, arrows from the layers' backward to what takes their gradients away. Slices on a track nest; times are
/// whole nanoseconds. `path`: of a run that has recorded causes, in the order of time; a process of its own, with an arrow to what a
/// shown worker computes whenever the path comes to it.
std::string timeline_json(const JobTimeline& timeline, const StepProfile& profile, const Point& point, const TimelineView& view,
                          const std::vector<PathSlice>& path = {});

}  // namespace syncopate
