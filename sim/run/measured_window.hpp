#pragma once

#include <functional>

#include "base/units.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// How many iterations are measured of a point whose window ends when the mean is steady: Scenario::measures_until(). All are whole cycles
/// of the schedule, and first <= fewest <= most.
struct WindowLengths {
  int first = 1;             ///< of the first simulation
  int fewest = 1;            ///< from which the mean may count as known
  int most = 1;              ///< more are not measured
  double half_width = 0.01;  ///< of the mean's 95% interval, relative to the mean, with which the window ends
};

/// `until` begins with `measured` iterations and goes on to Scenario::most_until(). A scenario that says neither begins with 100
/// iterations and 30 cycles, more where a simulation is estimated to take less than 50 ms, and goes on as far as 1 s, at most 5,000.
/// Options do not change it: they change no figure.
///
/// `each`: what an iteration is estimated to take; called only if that matters.
WindowLengths window_lengths(const Scenario& scenario, const std::function<Seconds()>& each);

}  // namespace syncopate
