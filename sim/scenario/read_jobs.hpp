#pragma once

#include "base/fields.hpp"
#include "scenario/read.hpp"

namespace syncopate {

/// Reads a scenario that has `jobs`: see scenarios/JOBS.md. Throws InputError.
Scenario read_jobs(Object& scenario, Library& library);

}  // namespace syncopate
