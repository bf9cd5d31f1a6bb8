#pragma once

#include "engine/simulate.hpp"
#include "run/point_result.hpp"
#include "run/run_plan.hpp"
#include "run/setup.hpp"
#include "scenario/scenario.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

/// What a point's run gives, with the files that its setup's options want. `job`: of that setup. Throws SimulationError where a figure is
/// no number.
PointResult measure_point(const Point& point, Setup& setup, const Job& job, const JobTimeline& run, const RunPlan& plan);

}  // namespace syncopate
