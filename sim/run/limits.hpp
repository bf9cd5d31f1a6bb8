#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "run/cost.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// What the simulation of a point may take.
struct Limits {
  static constexpr double usual_steps = 1e9;  ///< which takes some twenty minutes, and 80 GB

  double steps = usual_steps;     ///< gradient steps of all simulated workers, in all replicates
  std::optional<Bytes> memory{};  ///< of all that are simulated at a time; else what the machine has available
  std::optional<Seconds> time{};  ///< one that takes longer is ended, and has failed

  Bytes most_memory() const;
};

/// What the first simulation of a point takes. Where formulas come near to the limits, a short simulation may tell the paces of workers.
Cost cost_within(const Limits& limits, CostEstimate& estimate, const Scenario& scenario, bool may_see_paces = true);

/// Why a point is not to be begun, and which options (of simctl) would allow it; empty where it is within the limits.
std::string describe_excess(const Scenario& scenario, const Cost& cost, const Limits& limits);
/// Of a point that is simulated once.
std::string describe_excess(const Scenario& scenario, const Limits& limits);

/// How many of those simulations, at most `parallel`, fit in `memory` at a time, whichever they are; at least one.
int count_fitting(std::vector<Bytes> simulations, int parallel, Bytes memory);

}  // namespace syncopate
