#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <utility>

#include "base/units.hpp"

namespace syncopate {

/// SimGrid's clock. It adds up differences, so that it may be a rounding error off the times that we compute; those rule.
inline Seconds clock_now() { return Seconds(simgrid::s4u::Engine::get_clock()); }

/// Calls `function` when SimGrid's clock reaches `time`, at once when a rounding error has carried it past that. Calls at
/// the same time come in no particular order.
template <class Function>
simgrid::kernel::timer::Timer* call_at(Seconds time, Function function) {
  return simgrid::kernel::timer::Timer::set(std::max(time, clock_now()).value, std::move(function));
}

/// Calls `function` when everything of the clock's instant `time` has happened.
template <class Function>
void call_after(Seconds time, Function function) {
  constexpr double later = std::numeric_limits<double>::infinity();
  simgrid::kernel::timer::Timer::set(std::nextafter(std::max(time, clock_now()).value, later), std::move(function));
}

}  // namespace syncopate
