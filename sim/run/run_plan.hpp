#pragma once

#include <string>

#include "run/setup.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// About how much a simulation goes through, in the whole run.
struct RunCounts {
  double steps = 0.0;        ///< gradient steps of all simulated workers, until the measured window has closed
  double wakes = 0.0;        ///< times that a worker meets the clock within a step
  double posts = 0.0;        ///< of all simulated workers
  double collectives = 0.0;  ///< that move, each for all of its ranks
  double planned = 0.0;      ///< messages of the plans that are made
  double recurred = 0.0;     ///< messages whose times are computed by a recurrence
  double messages = 0.0;     ///< that move one by one, with links for themselves
  double flows = 0.0;        ///< messages that share links as flows
  double met_flows = 0.0;    ///< the same, each times what grows with the flows that its start or end gives another rate
  double exchanges = 0.0;    ///< with servers or peers
};

/// What the simulation of a point consists of. The simulation, its estimates and its limits all read this.
struct RunPlan {
  int ranks = 1;                             ///< that run the program of the schedule: GPUs or nodes
  int simulated = 1;                         ///< workers: 1 where that one stands for all ranks
  Fidelity fidelity = Fidelity::alpha_beta;  ///< that the scenario asks for, or that `auto` takes
  std::string note{};                        ///< what a report must say of the fidelity
  RunCounts counts{};                        ///< of a plan without simulation

  /// Workers are actors, which take a library.
  bool has_actors() const { return simulated > 1; }
};

/// The plan of a point that is simulated now. With `auto`: messages where no link can be filled by several of them, else flows unless they
/// take too long. Where the estimated number of messages comes near a limit, a simulation in alpha-beta fidelity counts them. Throws
/// SimulationError where the point would take more than an hour.
RunPlan plan_of(Setup& setup);

/// The same without a simulation, by the estimated number of messages, with counts. Of jobs on one network: of the first.
RunPlan plan_of(const Scenario& scenario, const PointOptions& options);

/// Alpha-beta fidelity could simulate it.
bool knows_a_line(const Scenario& scenario);

/// What a scenario could ask for to be simulated faster, as its file would say it; empty where there is nothing.
std::string faster_fidelity(const Scenario& scenario);

}  // namespace syncopate
