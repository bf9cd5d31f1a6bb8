#pragma once

#include "base/fields.hpp"
#include "engine/worker/speed.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// Reads a scenario's `workers` for `ranks` ranks. Throws InputError.
Speed read_workers(const Field& field, int ranks);

/// Throws InputError if ranks leave that the scenario requires.
void check_absences(const Scenario& scenario, const Document& document);

}  // namespace syncopate
