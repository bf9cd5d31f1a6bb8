#pragma once

#include <algorithm>
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
void call_at(Seconds time, Function function) {
  simgrid::kernel::timer::Timer::set(std::max(time, clock_now()).value, std::move(function));
}

}  // namespace syncopate
