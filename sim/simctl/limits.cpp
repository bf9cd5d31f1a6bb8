#include "simctl/limits.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/errors.hpp"
#include "base/quantities.hpp"
#include "base/text.hpp"

namespace syncopate {

void add_limit_options(CLI::App& command, LimitOptions& options, const std::string& what) {
  command.add_option("--max-steps", options.steps,
                     fmt::format("do not begin {} that would simulate about more gradient steps, of all workers (default: {:g})", what,
                                 Limits::usual_steps));
  command.add_option("--max-memory", options.memory,
                     fmt::format("do not begin {} that would take about more memory, such as 8GB (default: what is available)", what));
  command.add_option("--max-time", options.time,
                     fmt::format("end {}, or each of its replicates, that takes longer, as failed: seconds, or 90s, 5min, 2h", what));
}

Limits read_limits(const LimitOptions& options) {
  Limits limits = {.steps = options.steps};
  if (!(options.steps > 0.0) || !std::isfinite(options.steps))
    throw UsageError(fmt::format("--max-steps {:g}: expected a finite number above 0, such as 1e10", options.steps));
  if (!options.memory.empty()) {
    const std::optional<double> memory = parse_size(options.memory);
    if (!memory || !(*memory > 0.0))
      throw UsageError(fmt::format("--max-memory {}: expected a size such as 800MB or 16GB", options.memory));
    limits.memory = Bytes(*memory);
  }
  if (!options.time.empty()) {
    limits.time = parse_duration(options.time);
    if (!limits.time)
      throw UsageError(fmt::format("--max-time {}: expected seconds above 0, or a time such as 90s, 5min or 2h", options.time));
  }
  return limits;
}

}  // namespace syncopate
