#pragma once

#include "base/fields.hpp"
#include "engine/worker/speed.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// Reads a scenario's `workers`, of so many ranks. Throws InputError.
Speed read_workers(const Field& field, int ranks);

/// Throws InputError where ranks leave that the scenario cannot do without.
void check_absences(const Scenario& scenario, const Document& document);

}  // namespace syncopate
