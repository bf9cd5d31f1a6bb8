#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cluster/network.hpp"
#include "collective/collectives.hpp"
#include "collective/plan.hpp"
#include "collective/plan_times.hpp"

namespace syncopate {

/// A collective's messages on a network.
struct PlannedCollective {
  PlannedCollective(Plan its_plan, const Network& network, SecondsPerByte gamma);

  Plan plan;
  PlanTimes times;  ///< if no messages share a link
  std::vector<bool>
      shares;  ///< per link of the network: messages could fill it together, which one alone could not, or its bandwidth changes
  std::vector<double> loads;  ///< per link: the share of the plan's data that crosses it
};

/// The collectives of a job's ranks, as the messages that they consist of. Plans are made when they are asked for, and kept.
class PlannedCollectives {
 public:
  PlannedCollectives(const Cluster& cluster, AllReduce all_reduce, const Network& network, int ranks_per_node);

  PlannedCollective& operator()(Operation operation, Bytes bytes);

  const Network& network() const { return network_; }
  SecondsPerByte gamma() const { return cluster_.reduce; }

 private:
  const Cluster& cluster_;
  AllReduce all_reduce_;
  const Network& network_;
  int ranks_per_node_;
  std::map<std::pair<Operation, Chunks>, PlannedCollective> known_;  ///< by operation and chunks
};

}  // namespace syncopate
