#pragma once

#include <cstdint>

#include "goodput/goodput.hpp"
#include "run/point_result.hpp"
#include "run/setup.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// Plays the run of a point's scenario, which has one, with all of its seeds, from `first_seed` on. `result`: of the point, all of whose
/// nodes train at its speed. Numbers of nodes that the run comes to are simulated when it does. Throws SimulationError.
Goodput play_run(const Point& point, const PointResult& result, std::uint64_t first_seed, const PointOptions& options);

}  // namespace syncopate
