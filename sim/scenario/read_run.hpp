#pragma once

#include <optional>

#include "base/fields.hpp"
#include "cluster/cluster.hpp"
#include "goodput/long_run.hpp"

namespace syncopate {

/// Reads `run` of a scenario on that cluster: see scenarios/LONG_RUNS.md. `samples` of all epochs, where it says those: how long the run is
/// then follows from them, and must not be said twice. Throws InputError.
LongRun read_run(const Field& field, const Cluster& cluster, const std::optional<double>& samples);

}  // namespace syncopate
