#pragma once

#include "run/point_result.hpp"
#include "run/setup.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// Simulates the jobs of a point together, and then each of them alone on its nodes. Figures are the first job's, as are the files that
/// are wanted. Throws SimulationError.
PointResult simulate_jobs(const Point& point, const PointOptions& options);

}  // namespace syncopate
