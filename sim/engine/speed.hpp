#pragma once

#include <cstdint>
#include <vector>

namespace syncopate {

/// How a worker's compute time varies from step to step: a factor of mean 1 and coefficient of variation `cv`.
struct Jitter {
  enum class Distribution { none, lognormal, uniform };
  Distribution distribution = Distribution::none;
  double cv = 0.0;  ///< standard deviation over mean; for `uniform` below 1/sqrt(3), so that factors stay positive
};

/// How fast the workers of a job are.
struct Speed {
  Jitter jitter;
  std::vector<double> slow;  ///< per rank, a factor on its compute and update; empty: all 1
  std::uint64_t seed = 1;

  /// All workers do every step in the same time.
  bool uniform() const;

  /// The factor on rank's update.
  double slowness(int rank) const;

  /// The factor on rank's forward and backward in a step: slowness times that step's jitter.
  double compute_factor(int rank, int step) const;
};

}  // namespace syncopate
