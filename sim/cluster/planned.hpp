#pragma once

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "cluster/network.hpp"
#include "collective/algorithms.hpp"
#include "collective/communicator.hpp"
#include "collective/plan.hpp"
#include "collective/plan_times.hpp"

namespace syncopate {

/// A collective's messages on a network.
struct PlannedCollective {
  PlannedCollective(Plan its_plan, Communicator its_members, Network& network, SecondsPerByte gamma);

  Plan plan;
  Communicator members;  ///< by whose numbers the plan goes
  PlanTimes times;       ///< if no messages share a link
  std::vector<bool>
      shares;  ///< per link of the network: messages could fill it together, which one alone could not, or its bandwidth changes
  std::vector<double> loads;  ///< per link: the share of the collective's bytes that crosses it

  const Path& path(const Message& message, Network& network) const {
    return network.path(members.rank(message.from), members.rank(message.to));
  }
};

/// The collectives of a job's ranks over any communicator, as the messages that they consist of. Plans are made when they are asked for,
/// and kept.
class PlannedCollectives {
 public:
  PlannedCollectives(const Cluster& cluster, AllReduce all_reduce, Network& network, int ranks_per_node);

  /// Throws SimulationError for a communicator that no algorithm is defined for (layout_on_nodes).
  PlannedCollective& operator()(Operation operation, const Communicator& communicator, Bytes bytes);

  /// How long the collective takes if all ranks start it at once, and how long without its bytes.
  CollectiveTime time(Operation operation, const Communicator& communicator, Bytes bytes);

  Network& network() { return network_; }
  SecondsPerByte gamma() const { return cluster_.reduce; }

 private:
  const Cluster& cluster_;
  AllReduce all_reduce_;
  Network& network_;
  int ranks_per_node_;
  Bytes under_way_;
  std::map<Communicator, NodeLayout> layouts_;
  std::map<std::tuple<Operation, Communicator, Chunks>, PlannedCollective> known_;
};

}  // namespace syncopate
