#pragma once

#include <string>

#include "cluster/planned.hpp"
#include "engine/simulate.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// How a point's bytes move, and what a report must say of that.
struct FidelityChoice {
  Fidelity fidelity = Fidelity::alpha_beta;
  std::string note;
};

/// What the scenario asks for or, with `auto`, messages where no link can be filled by several of them, else flows unless they take
/// too long. `job`: complete but for its fidelity. Throws SimulationError when it asks for flows that take more than an hour.
FidelityChoice choose_fidelity(const Scenario& scenario, const Job& job, const Network& network);

/// All ranks do the same at the same time, so that one stands for all.
bool moves_in_lockstep(const Scenario& scenario, const Job& job, const Network& network);

/// The all-reduce of the job's ranks as a line, a its time without bytes, through its time for all gradients: for schedules that merge
/// gradients by what an all-reduce costs in this fidelity.
CostLine fitted_line(const Job& job, const Network& network);

}  // namespace syncopate
