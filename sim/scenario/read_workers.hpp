#pragma once

#include "base/fields.hpp"
#include "engine/worker/speed.hpp"
#include "scenario/read.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// Reads a scenario's `workers`. `scenario` has its trace, granularity and cluster. Throws InputError.
Speed read_workers(const Field& field, const Scenario& scenario, Library& library);

/// Throws InputError if ranks leave that the scenario requires.
void check_absences(const Scenario& scenario, const Document& document);

}  // namespace syncopate
