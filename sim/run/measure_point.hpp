#pragma once

#include <optional>
#include <vector>

#include "engine/simulate.hpp"
#include "run/link_use.hpp"
#include "run/point_result.hpp"
#include "run/run_plan.hpp"
#include "run/setup.hpp"
#include "scenario/scenario.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

/// What a point's run gives, with the files that its setup's options want. `job`: of that setup. `others`: jobs that share its links.
/// Throws SimulationError where a figure is no number.
PointResult measure_point(const Point& point, Setup& setup, const Job& job, const JobTimeline& run, const RunPlan& plan,
                          const std::vector<JobInRun>& others = {});

/// Scripted events that do not meet the window, in an order that depends on the scenario alone: `what`, `at_s` of the first, `count`, and
/// the window. Of a bandwidth or latency that changes with time, the values that do not hold in it.
Json events_outside(const Scenario& scenario, const Window& window);

/// Half of the 95% interval of a training's mean iteration, as a share of it: empty if every cycle is like the last (to 1e-5), or too
/// little was measured. `whole`: the scenario of all trainings.
std::optional<double> half_width_of(const Scenario& whole, const Scenario& training, const JobTimeline& run, Seconds iteration);

}  // namespace syncopate
