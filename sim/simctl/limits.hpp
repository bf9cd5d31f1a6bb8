#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "run/limits.hpp"

namespace syncopate {

/// The options that say what the simulation of a point may take, as they were given.
struct LimitOptions {
  double steps = Limits::usual_steps;
  std::string memory;
  std::string time;
};

/// `what` is simulated, for the help.
void add_limit_options(CLI::App& command, LimitOptions& options, const std::string& what);

/// Throws UsageError.
Limits read_limits(const LimitOptions& options);

}  // namespace syncopate
