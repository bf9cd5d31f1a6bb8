#pragma once

#include <array>
#include <functional>
#include <memory>
#include <simgrid/s4u.hpp>
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

/// SimGrid with the plainest of its network models, in which flows share links max-min fairly, as exact as it can be, and quiet.
inline std::unique_ptr<simgrid::s4u::Engine> make_simgrid() {
  static std::array<std::string, 6> arguments = {"test",
                                                 "--log=root.app:file:/dev/null",
                                                 "--cfg=network/model:CM02",
                                                 "--cfg=network/crosstraffic:0",
                                                 "--cfg=surf/precision:1e-12",
                                                 "--cfg=maxmin/precision:1e-12"};
  std::array<char*, arguments.size() + 1> argv = {};
  for (std::size_t i = 0; i < arguments.size(); ++i) argv[i] = arguments[i].data();
  int argc = static_cast<int>(arguments.size());
  return std::make_unique<simgrid::s4u::Engine>(&argc, argv.data());
}

}  // namespace syncopate::testing
