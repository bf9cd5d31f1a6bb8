#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "cluster/network.hpp"
#include "collective/algorithms.hpp"
#include "collective/communicator.hpp"
#include "collective/plan.hpp"
#include "collective/plan_times.hpp"

namespace syncopate {

/// A collective's messages on a network, which outlives it.
class PlannedCollective {
 public:
  PlannedCollective(Plan plan, Communicator members, Network& network, SecondsPerByte gamma);
  PlannedCollective(const PlannedCollective&) = delete;
  PlannedCollective& operator=(const PlannedCollective&) = delete;

  const Plan& plan() const { return times_.plan(); }
  /// If no messages share a link.
  PlanTimes& times() { return times_; }

  /// Messages could fill some link together, which one alone could not, or its bandwidth changes.
  bool can_share() const { return !network_.is_star() && crossed().any_shared; }
  /// Per link of the network: the share of the collective's bytes that crosses it.
  const std::vector<double>& loads() const { return crossed().loads; }
  /// That share of all messages between two nodes together.
  double between_nodes() const { return crossed().between_nodes; }

  /// The way of a message: its latency and bandwidth, and whether others could fill a link of it together with this one.
  struct Way {
    Hop hop;
    bool can_share = false;
  };
  /// That of the plan's message with this number in a step, which must be a stage.
  const Way& way(int step, int message) {
    std::vector<Way>& ways = ways_[static_cast<std::size_t>(step)];
    if (ways.empty()) ways = find_ways(plan().stage(step));
    return ways[static_cast<std::size_t>(message)];
  }

 private:
  /// By link of the network.
  struct Crossed {
    std::vector<bool> shared;
    bool any_shared = false;
    std::vector<double> loads;
    double between_nodes = 0.0;
  };
  const Crossed& crossed() const {
    if (!crossed_) crossed_ = find_crossed();
    return *crossed_;
  }
  Crossed find_crossed() const;
  std::vector<Way> find_ways(const Stage& stage) const;

  Communicator members_;  ///< by whose numbers the plan goes
  Network& network_;
  PlanTimes times_;
  std::vector<std::vector<Way>> ways_;  ///< by step
  mutable std::optional<Crossed> crossed_{};
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
  struct Layout {
    NodeGroups nodes;
    LongestWay longest_way;  ///< from node to node, where chunks depend on it
  };
  Layout layout(const Communicator& communicator);

  std::map<Communicator, Layout> layouts_;
  std::map<std::tuple<Operation, Communicator, Chunks>, PlannedCollective> known_;
};

}  // namespace syncopate
