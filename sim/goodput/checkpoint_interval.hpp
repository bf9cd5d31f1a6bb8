#pragma once

#include "base/units.hpp"
#include "goodput/long_run.hpp"

namespace syncopate {

/// Optimal training time between two checkpoints, first order: sqrt(2 d M). `stall` (d): how long each checkpoint stops training.
/// `between_failures` (M): mean time between failures. J. W. Young, "A first order approximation to the optimum checkpoint interval", CACM
/// 17(9), 1974.
Seconds young_interval(Seconds stall, Seconds between_failures);

/// The same, higher order: sqrt(2 d M) (1 + sqrt(d / 2M) / 3 + d / 18M) - d for d < 2M, else M. J. T. Daly, "A higher order estimate of the
/// optimum checkpoint interval for restart dumps", FGCS 22(3), 2006, eq. 37.
Seconds daly_interval(Seconds stall, Seconds between_failures);

/// Fraction of time spent on useful training: every / (M e^(R/M) (e^((every + d)/M) - 1)). Daly, eq. 20. Failures are exponential and may
/// happen during checkpoints and restarts; checkpoints are synchronous. `restart` (R): from a failure until training continues.
double exponential_efficiency(Seconds every, Seconds stall, Seconds restart, Seconds between_failures);

/// A run's training time between two checkpoints, by its rule. At least one iteration, and at least the time until the previous checkpoint
/// is complete. Infinite without checkpoints.
Seconds checkpoint_interval(const LongRun& run, Seconds iteration);

}  // namespace syncopate
