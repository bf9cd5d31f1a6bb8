#pragma once

#include <span>

#include "run/point.hpp"

namespace syncopate {

/// How many simulations a point is: where nothing is drawn, one does for all.
int replicates_of(const Scenario& scenario);

/// A point with the seed of a replicate, the first being 0.
Point replicate(const Point& point, int index);

/// What at least two replicates of a point make together: each figure as the table of figures averages it, and Student's interval of the
/// iteration. Details and timeline are the first replicate's.
PointResult mean_of(std::span<const PointResult> replicates);

}  // namespace syncopate
