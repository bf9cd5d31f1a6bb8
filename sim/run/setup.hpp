#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/alpha_beta.hpp"
#include "cluster/network.hpp"
#include "cluster/planned.hpp"
#include "engine/simulate.hpp"
#include "output/timeline_json.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// How to simulate a point.
struct PointOptions {
  bool shortcuts = true;                   ///< off: every worker is simulated and meets the clock after every bit of compute
  std::optional<TimelineView> timeline{};  ///< that is wanted
  bool explain = false;                    ///< the critical path is wanted
  /// The record of the dataflow is wanted, with such an optimiser: every worker is simulated.
  std::optional<Optimizer> dataflow{};

  std::string paje{};  ///< file for SimGrid's own tracing of a process's only simulation, in fidelity `simgrid`; "": none

  bool range = false;  ///< how long it takes over the slower and the faster of usual networks is wanted, where that is known

  double most_steps = std::numeric_limits<double>::infinity();  ///< gradient steps of all simulated workers, in each simulation

  /// The same for a simulation of which only the figures are wanted.
  PointOptions without_files() const { return {.shortcuts = shortcuts, .most_steps = most_steps}; }
  /// More than figures is wanted.
  bool leaves_files() const { return timeline || explain || dataflow; }
  /// Equal workers may be simulated as one.
  bool may_be_one() const { return shortcuts && !dataflow; }
};

/// The undisturbed step of its trace, with the update of its schedule.
StepProfile profile_of(const Scenario& scenario);
/// Likewise with another trace.
StepProfile profile_of(const Scenario& scenario, const Trace& trace);
/// Of one value of a gradient.
Bytes value_size(const Trace& trace);

/// A scenario as what an engine simulates: its network, what collectives cost on it, and its job in any fidelity.
class Setup {
 public:
  /// `scenario` must outlive it.
  Setup(const Scenario& scenario, PointOptions options);
  /// Of a job that has such a share of the network of a `cluster`, which must outlive it, too.
  Setup(const Scenario& scenario, const Cluster& cluster, NetworkShare share, PointOptions options);
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;

  const Scenario& scenario() const { return scenario_; }
  const PointOptions& options() const { return options_; }
  const StepProfile& profile() const { return profile_; }
  int ranks() const { return ranks_; }
  /// By rank: its times, where they are not the profile's; empty: nowhere.
  const std::vector<std::shared_ptr<const OwnStep>>& own_steps() const { return own_; }
  Network& network() { return network_; }
  const Network& network() const { return network_; }
  PlannedCollectives& planned() { return planned_; }

  /// The rows of the job's streams.
  const std::vector<StreamSetup>& streams() const { return streams_; }
  bool overlaps_collectives() const;
  /// What goes to and from parameter servers is flows in every fidelity.
  bool serves_by_flows() const;

  /// Flows of a message to or from all servers.
  int flows_per_exchange() const;

  /// What goes over the streams.
  struct Collective {
    Operation operation = Operation::all_reduce;
    Communicator communicator;
  };
  const std::vector<Collective>& collectives() const { return collectives_; }

  /// The names of the regions in the order of the ring through them, if there is one.
  std::vector<std::string> region_order() const { return region_names(scenario_.cluster, region_order_); }

  /// All ranks do the same at the same time in that fidelity, so that one stands for all.
  bool moves_in_lockstep(Fidelity fidelity);
  /// moves_in_lockstep, and the options allow that one worker stands for all.
  bool stands_for_all(Fidelity fidelity) { return options_.may_be_one() && moves_in_lockstep(fidelity); }
  /// The time of the collective of all ranks by its bytes, for schedules that merge gradients by what that costs in this fidelity: as it is
  /// in alpha-beta, else a line through its times without bytes and for all gradients. With the host's start-up.
  CostCurve collective_cost(Fidelity fidelity);

  /// The time of a collective of all ranks by closed forms of an algorithm.
  CollectiveTime closed_form(const AllReduce& all_reduce, Bytes bytes) const;

  /// All ranks start and end each collective at once, and nothing else moves beside it: one of the same bytes takes the same time.
  bool repeats_collectives() const;

  /// How the schedule merges gradients; empty if it does not all-reduce groups of them, or has one worker.
  Grouping grouping(Fidelity fidelity);
  /// What a group of gradients costs by its bytes, for such a schedule, whether it merges by that or not.
  CostCurve group_cost(Fidelity fidelity);

  /// The job. Throws SimulationError.
  Job job(Fidelity fidelity);

 private:
  /// What the schedule may know, but of its servers.
  ScheduleInput schedule_input(Fidelity fidelity);
  CostCurve find_cost(Fidelity fidelity);
  CostCurve cost_without_host(const Communicator& largest, Fidelity fidelity);
  void add_own_steps();
  void add_streams();
  /// All ranks do the same at the same time in that fidelity if the plans of all collectives treat them alike.
  bool may_move_in_lockstep(Fidelity fidelity) const;
  /// What moves by itself in a record of the dataflow.
  std::vector<ModelPart> parts(bool is_alone, const ScheduleInput& input) const;
  NetworkModel model(Fidelity fidelity);
  CollectiveTime message_time(Fidelity fidelity, int from, int to, Bytes bytes);

  const Scenario& scenario_;
  PointOptions options_;
  StepProfile profile_;
  std::vector<std::shared_ptr<const OwnStep>> own_;
  int gpus_per_rank_;
  int ranks_;
  int ranks_per_node_;
  std::vector<StreamSetup> streams_;
  std::vector<Collective> collectives_;
  std::vector<std::size_t> region_order_;
  Network network_;
  PlannedCollectives planned_;
  std::map<Fidelity, CostCurve> costs_;  ///< in flow and simgrid each takes a simulation
};

}  // namespace syncopate
