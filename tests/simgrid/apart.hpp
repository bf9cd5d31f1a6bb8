#pragma once

#include <functional>
#include <string>

#include "base/processes.hpp"

namespace syncopate::testing {

/// Calls a function in a process of its own, as SimGrid's engine is one of a process. Throws SimulationError with what it threw.
inline std::string apart(const std::function<std::string()>& function) {
  Outcome outcome;
  run_forked(
      1, 1, [&](int) { return function(); }, [&](int, const Outcome& its) { outcome = its; });
  if (!outcome.ok) throw SimulationError(outcome.error);
  return outcome.result;
}

}  // namespace syncopate::testing
