#pragma once

#include <optional>
#include <vector>

#include "run/run_plan.hpp"

namespace syncopate {

/// Iterations of a worker that others do not hold up, as gradient steps.
double steps_of(const Scenario& scenario);

/// The least that a step of all workers takes: computing, or sending the bytes once.
Seconds least_step(const Scenario& scenario, const StepProfile& profile);

/// How many messages of the run have to move, whatever moves them; those that are known from before count once.
double estimate_messages(Setup& setup);

/// What a short simulation has shown of workers that do not wait for the slowest, and of rounds that end early.
struct SeenPaces {
  std::vector<Seconds> step;     ///< by rank
  double steps_per_round = 1.0;  ///< of a worker
};

/// Simulates a cycle of warm-up and a measured one of the scenario without its events, in a process of its own. Nullopt if the plan tells
/// the steps, if the simulation fails, or if it takes more than 0.3 s or is estimated to take 0.1 s.
std::optional<SeenPaces> see_paces(const Scenario& scenario, const RunPlan& plan);

/// What a simulation by that plan goes through. `paces`: where they are known.
RunCounts estimate_counts(Setup& setup, const RunPlan& plan, const std::optional<SeenPaces>& paces = {});

}  // namespace syncopate
