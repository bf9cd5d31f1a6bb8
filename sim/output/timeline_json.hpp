#pragma once

#include <string>

#include "scenario/scenario.hpp"
#include "timeline/timeline.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

/// A timeline in the Chrome trace-event format, which Perfetto and chrome://tracing open: a process per shown worker, a
/// track for its compute and one for its Stream. Slices on a track nest; times are whole nanoseconds.
std::string timeline_json(const JobTimeline& timeline, const StepProfile& profile, const Point& point, int shown_workers);

}  // namespace syncopate
