#pragma once

#include "scenario/scenario.hpp"

namespace syncopate {

/// Whether a point has an iteration over the faster and one over the slower of usual networks: some link has its kind's usual efficiency,
/// and a single simulation makes the point, outside SimGrid.
bool has_range(const Scenario& scenario);

/// Over how many networks a point is simulated where its range is asked for: 3, or 1 without a range.
int networks_of(const Scenario& scenario);

/// Whether a study has so few points that a run simulates each over usual networks, too.
bool shows_ranges(const Study& study);

}  // namespace syncopate
