#pragma once

#include <string>

#include "run/setup.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// Estimated numbers of what a simulation computes, in the whole run.
struct RunCounts {
  double steps = 0.0;        ///< gradient steps of all simulated workers, until the measured window has closed
  double wakes = 0.0;        ///< times that a worker waits for the clock within a step
  double posts = 0.0;        ///< of all simulated workers
  double collectives = 0.0;  ///< that are computed; one counts once for all of its ranks
  double planned = 0.0;      ///< messages in the plans that are made
  double recurred = 0.0;     ///< messages whose times are computed by a recurrence
  double messages = 0.0;     ///< that are simulated one by one and share no link
  double flows = 0.0;        ///< messages that share links as flows
  /// Sum over these flows of n^1.4, or of n where those of servers that are alike move as one: its start or end changes the rates of n
  /// flows.
  double met_flows = 0.0;
  double exchanges = 0.0;  ///< with servers or peers
  double shown = 0.0;      ///< messages of collectives that a timeline of all ranks shows, those that are known from before included
};

/// What the simulation of a point consists of. The simulation, the estimates and the limits read it.
struct RunPlan {
  int ranks = 1;                             ///< GPUs or nodes, each of which runs the schedule's program
  int simulated = 1;                         ///< simulated workers: 1 if one worker stands for all ranks
  Fidelity fidelity = Fidelity::alpha_beta;  ///< the scenario's, or what `auto` takes
  std::string note{};                        ///< what a report must say of the fidelity; "" if nothing
  RunCounts counts{};                        ///< only of a plan without a simulation

  /// Several workers, and all in SimGrid, are actors. They need the actors' library.
  bool has_actors() const { return simulated > 1 || fidelity == Fidelity::simgrid; }
};

/// The plan of a point that is simulated now. `auto` takes messages if several of them cannot fill a link, else flows, unless these take
/// too long. If the estimated number of messages is near a limit, a simulation in alpha-beta fidelity counts them. Throws SimulationError
/// if the point would take over an hour.
RunPlan plan_of(Setup& setup);

/// The plan by the estimated number of messages, without a simulation, with counts. Near a limit it may differ from the other. With several
/// jobs on a network: of the first.
RunPlan plan_of(const Scenario& scenario, const PointOptions& options);
/// The same, of a Setup. Throws SimulationError where it cannot be planned.
RunPlan estimate_plan(Setup& setup);

/// Plans as far as a simulation does before it begins. Throws SimulationError where that fails, as when a model has fewer layers than the
/// schedule wants parts.
void require_plan(const Scenario& scenario);

/// What a message takes in fidelity `simgrid`, of processor time. Measured.
Seconds message_in_simgrid(const Scenario& scenario, int ranks);

/// Alpha-beta fidelity has a closed form for what the scenario asks for.
bool knows_a_line(const Scenario& scenario);

/// The key and value of a faster fidelity, as a scenario file says it; "" if there is none.
std::string faster_fidelity(const Scenario& scenario);

}  // namespace syncopate
