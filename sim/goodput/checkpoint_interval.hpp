#pragma once

#include "base/units.hpp"
#include "goodput/long_run.hpp"

namespace syncopate {

/// Training between two checkpoints that loses least to first order, where each holds it up for `stall` and failures come every
/// `between_failures` on average: sqrt(2 d M). J. W. Young, "A first order approximation to the optimum checkpoint interval", CACM 17(9),
/// 1974.
Seconds young_interval(Seconds stall, Seconds between_failures);

/// The same of higher order: sqrt(2 d M) (1 + sqrt(d / 2M) / 3 + d / 18M) - d for d < 2M, else M.
/// J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 22(3), 2006, eq. 37.
Seconds daly_interval(Seconds stall, Seconds between_failures);

/// Share of the time in which what counts is trained, for exponential failures, also during checkpoints and restarts, synchronous
/// checkpoints and `restart` from a failure until training goes on: every / (M e^(R/M) (e^((every + d)/M) - 1)). Daly, eq. 20.
double exponential_efficiency(Seconds every, Seconds stall, Seconds restart, Seconds between_failures);

/// How long a run trains between two checkpoints: as their rule has it, but an iteration at least, and until the one before is complete.
/// Infinite where it has none.
Seconds checkpoint_interval(const LongRun& run, Seconds iteration);

}  // namespace syncopate
