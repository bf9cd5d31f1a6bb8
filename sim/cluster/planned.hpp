#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/indexed.hpp"
#include "cluster/network.hpp"
#include "collective/algorithms.hpp"
#include "collective/closed_form.hpp"
#include "collective/communicator.hpp"
#include "collective/plan.hpp"
#include "collective/plan_times.hpp"

namespace syncopate {

/// The messages of one collective on a network. The network must outlive it.
class PlannedCollective {
 public:
  PlannedCollective(Plan plan, Communicator members, Network& network, SecondsPerByte gamma);
  PlannedCollective(const PlannedCollective&) = delete;
  PlannedCollective& operator=(const PlannedCollective&) = delete;

  const Plan& plan() const { return times_.plan(); }
  /// Times of the messages if no two of them share a link.
  PlanTimes& times() { return times_; }

  /// Whether several messages together can fill a link that one alone cannot, or a bandwidth changes.
  bool can_share() const { return !network_.is_star() && crossed().any_shared; }
  /// By link of the network: the fraction of the collective's bytes that crosses it.
  const std::vector<double>& loads() const { return crossed().loads; }
  /// The fraction of the bytes that all messages between nodes carry.
  double between_nodes() const { return crossed().between_nodes; }

  /// Latency and bandwidth of one message's route, and whether it shares a link that several messages could fill.
  struct Way {
    Hop hop;
    bool can_share = false;
  };
  /// The route of a message in a step of the plan. The step must be a stage.
  const Way& way(int step, int message) {
    std::vector<Way>& ways = ways_[at(step)];
    if (ways.empty()) ways = find_ways(plan().stage(step));
    return ways[at(message)];
  }

 private:
  /// Indexed by link of the network.
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

  Communicator members_;  ///< maps the plan's members to ranks
  Network& network_;
  PlanTimes times_;
  std::vector<std::vector<Way>> ways_;  ///< by step; filled on demand
  mutable std::optional<Crossed> crossed_{};
};

/// Plans of a job's collectives over any communicator. Plans are made on demand and cached.
///
/// Of an all-reduce with candidates, a collective uses the one with the shortest of these times for its bytes: of its messages if none
/// share a link, or of its busiest link if that is longer.
class PlannedCollectives {
 public:
  PlannedCollectives(const Cluster& cluster, AllReduce all_reduce, Network& network, int ranks_per_node);

  /// Throws SimulationError if no algorithm is defined for the communicator (see layout_on_nodes).
  PlannedCollective& operator()(Operation operation, const Communicator& communicator, Bytes bytes);

  /// Time of the collective if all ranks start at once; `latency` is the time without bytes.
  CollectiveTime time(Operation operation, const Communicator& communicator, Bytes bytes);

  /// Its time alone by its bytes. Of candidates, each is the line through no bytes and `bytes`, and the lowest one counts.
  CostCurve curve(Operation operation, const Communicator& communicator, Bytes bytes);

  /// Whether all ranks that start a collective at once are always at the same step, whatever its bytes. `bytes`: for chunks.
  bool in_lockstep(Operation operation, const Communicator& communicator, Bytes bytes);

  bool has_candidates() const { return !candidates_.empty(); }

  Network& network() { return network_; }
  SecondsPerByte gamma() const { return cluster_.reduce; }

 private:
  const Cluster& cluster_;
  AllReduce all_reduce_;
  Network& network_;
  int ranks_per_node_;
  struct Layout {
    NodeGroups nodes;
    LongestWay longest_way;  ///< between two nodes; only set if chunks depend on it
  };
  Layout layout(const Communicator& communicator);
  PlannedCollective& plan(Operation operation, const Communicator& communicator, Bytes bytes);
  Seconds least_time(Operation operation, const Communicator& communicator, Bytes bytes);

  std::map<Communicator, Layout> layouts_;
  std::map<std::tuple<Operation, Communicator, Chunks>, PlannedCollective> known_;
  std::vector<std::unique_ptr<PlannedCollectives>> candidates_;
  std::map<std::tuple<Operation, Communicator, double>, PlannedCollective*> chosen_;  ///< of the candidates' plans, by bytes
};

}  // namespace syncopate
