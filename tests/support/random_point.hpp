#pragma once

#include <random>

#include "run/point.hpp"
#include "scenario/scenario.hpp"

namespace syncopate::testing {

/// A trace of 1 to `most_layers` layers with random times and bytes, sometimes zero times, several gradients per layer,
/// recorded ready times, measured spans and an update.
Trace random_trace(std::mt19937& random, int most_layers);

/// A cluster of equal links with random latency, bandwidth and reduction cost.
Cluster random_cluster(std::mt19937& random, int nodes);

/// A schedule of every kind, with parameters.
extern const std::vector<Json> one_of_each;

/// A point that simulates `schedule`, a name or an object with parameters, on that cluster.
Point make_point(const Trace& trace, const Cluster& cluster, const Json& schedule, const std::string& all_reduce = "ring");

}  // namespace syncopate::testing
