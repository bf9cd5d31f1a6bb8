#pragma once

#include <string>

#include "engine/simulate.hpp"
#include "run/setup.hpp"

namespace syncopate {

/// How a point's bytes move, and what a report must say of that.
struct FidelityChoice {
  Fidelity fidelity = Fidelity::alpha_beta;
  std::string note;
};

/// What the scenario asks for or, with `auto`, messages where no link can be filled by several of them, else flows unless they take
/// too long. Throws SimulationError when it asks for flows that take more than an hour.
FidelityChoice choose_fidelity(Setup& setup);

/// Alpha-beta fidelity could do it.
bool knows_a_line(const Scenario& scenario);

/// What a scenario could ask for to be simulated faster, as its file would say it; empty where there is nothing.
std::string faster_fidelity(const Scenario& scenario);

}  // namespace syncopate
