#include "goodput/checkpoint_interval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace syncopate {

Seconds young_interval(Seconds stall, Seconds between_failures) { return Seconds(std::sqrt(2.0 * stall.value * between_failures.value)); }

Seconds daly_interval(Seconds stall, Seconds between_failures) {
  if (stall >= 2.0 * between_failures) return between_failures;
  const double ratio = stall / (2.0 * between_failures);
  return (1.0 + std::sqrt(ratio) / 3.0 + ratio / 9.0) * young_interval(stall, between_failures) - stall;
}

double exponential_efficiency(Seconds every, Seconds stall, Seconds restart, Seconds between_failures) {
  const Seconds each = std::exp(restart / between_failures) * std::expm1((every + stall) / between_failures) * between_failures;
  return every / each;
}

Seconds checkpoint_interval(const LongRun& run, Seconds iteration) {
  if (!run.checkpoints) return Seconds(std::numeric_limits<double>::infinity());
  const Checkpoints& checkpoints = *run.checkpoints;
  const Seconds between_failures = time_between_failures(run.failures, run.nodes);
  const Seconds best = checkpoints.rule == Checkpoints::Rule::fixed   ? checkpoints.every
                       : checkpoints.rule == Checkpoints::Rule::young ? young_interval(checkpoints.stall, between_failures)
                                                                      : daly_interval(checkpoints.stall, between_failures);
  return std::max({best, iteration, checkpoints.write - checkpoints.stall});
}

}  // namespace syncopate
