#pragma once

#include "run/run_plan.hpp"

namespace syncopate {

/// Iterations of a worker that others do not hold up, as gradient steps.
double steps_of(const Scenario& scenario);

/// The least that a step of all workers takes: computing, or sending the bytes once.
Seconds least_step(const Scenario& scenario, const StepProfile& profile);

/// How many messages of the run have to move, whatever moves them; those that are known from before count once.
double estimate_messages(Setup& setup);

/// What a simulation by that plan goes through.
RunCounts estimate_counts(Setup& setup, const RunPlan& plan);

}  // namespace syncopate
