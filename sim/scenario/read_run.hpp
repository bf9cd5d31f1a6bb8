#pragma once

#include <optional>

#include "base/fields.hpp"
#include "cluster/cluster.hpp"
#include "goodput/long_run.hpp"

namespace syncopate {

/// Reads the `run` of a scenario on `cluster`: see scenarios/LONG_RUNS.md. `samples`: total of all epochs, if the scenario gives them; they
/// determine the run's length, so `run` must not give it again. Throws InputError.
LongRun read_run(const Field& field, const Cluster& cluster, const std::optional<double>& samples);

}  // namespace syncopate
