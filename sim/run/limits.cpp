#include "run/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/memory.hpp"
#include "base/text.hpp"
#include "run/replicates.hpp"

namespace syncopate {

namespace {

/// What makes for fewer gradient steps, but for what always does.
std::string advice_on_steps(const Scenario& scenario) {
  const int cycle = scenario.schedule.pace.cycle;
  const bool goes_on = !scenario.schedule.waits_for_slowest();
  constexpr int long_cycle = 1000;
  if (goes_on && !scenario.speed.pauses.empty()) return ", or shorter pauses, beside which other workers go on";
  if (goes_on && !scenario.speed.uniform()) return ", or less slow workers, beside which others go on";
  if (cycle < long_cycle) return "";
  return fmt::format(", or a schedule whose pattern repeats sooner than every {} steps", cycle);
}

std::string advice_on_memory(const Scenario& scenario) {
  if (scenario.speed.uniform() || !scenario.schedule.pace.waits_for_all) return "";
  return ", or leave out what makes workers unequal (equal workers are simulated as one if the schedule waits for all of them)";
}

}  // namespace

Bytes Limits::most_memory() const { return memory ? *memory : available_memory(); }

Cost cost_within(const Limits& limits, CostEstimate& estimate, const Scenario& scenario, bool may_see_paces) {
  constexpr double most_off = 100.0;  // formulas
  const Cost by_formulas = estimate.first();
  const double steps = replicates_of(scenario) * by_formulas.steps;
  if (!may_see_paces || steps < limits.steps / most_off || steps > most_off * limits.steps) return by_formulas;
  estimate.see_paces();
  return estimate.first();
}

std::string describe_excess(const Scenario& scenario, const Cost& cost, const Limits& limits) {
  const int replicates = replicates_of(scenario);
  if (const double steps = replicates * cost.steps; steps > limits.steps) {
    return fmt::format(
        "about {:.2g} gradient steps would have to be simulated, over the limit of {:.2g}; use fewer iterations{}{}{}, or "
        "allow them with --max-steps {:.0e}",
        steps, limits.steps, scenario.cluster.workers() > 1 ? " or nodes" : "", replicates > 1 ? " or replicates" : "",
        advice_on_steps(scenario), 2.0 * steps);
  }
  const Bytes most = limits.most_memory();
  if (cost.memory <= most) return "";
  return fmt::format(
      "about {:.2g} gradient steps of {} workers take about {} of memory, over the limit of {}; use fewer iterations or "
      "nodes{}{}, or allow it with --max-memory {:.0f}GB",
      cost.steps, scenario.cluster.workers(), format_bytes(cost.memory), format_bytes(most), advice_on_steps(scenario),
      advice_on_memory(scenario), std::ceil(1.5 * cost.memory.value / 1e9));
}

std::string describe_excess(const Scenario& scenario, const Limits& limits) {
  CostEstimate estimate(scenario);
  return describe_excess(scenario, cost_within(limits, estimate, scenario), limits);
}

int count_fitting(std::vector<Bytes> simulations, int parallel, Bytes memory) {
  std::sort(simulations.begin(), simulations.end(), std::greater<>());
  Bytes together;
  int fitting = 0;
  for (const Bytes its : simulations) {
    together += its;
    if (fitting == parallel || (fitting > 0 && together > memory)) return fitting;
    ++fitting;
  }
  return parallel;
}

}  // namespace syncopate
