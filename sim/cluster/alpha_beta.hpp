#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster.hpp"
#include "collective/communicator.hpp"
#include "collective/payload.hpp"

namespace syncopate {

/// What a communicator's collectives cost in alpha-beta fidelity.
///
/// Where it has several ranks on a node, a collective has two levels: a ring among the ranks of each node and the algorithm among the
/// nodes (see two_level_plan). On regions, nodes form one ring over the regions' links. A measured fit replaces all of this, but among the
/// GPUs of one of several nodes.
class CollectiveCosts {
 public:
  /// `ranks_per_node`: of the job; `region_order`: see fastest_region_order. Requires can_carry_fit. Throws SimulationError
  /// (layout_on_nodes).
  CollectiveCosts(const Cluster& cluster, const Algorithm& algorithm, const Communicator& communicator, int ranks_per_node,
                  const std::vector<std::size_t>& region_order);

  /// Over regions the transfer is at least the time for which the slowest link is busy, so that no link carries more than it
  /// can, however many collectives are in flight. Other operations than an all-reduce need implies_link.
  CollectiveTime operator()(Operation operation, Bytes bytes) const;

  /// The operation by its bytes, for schedules that merge gradients. Exact but on regions: there it is a line through its ends, no bytes
  /// and `bytes`.
  CostCurve curve(Operation operation, Bytes bytes) const;

 private:
  bool by_fit() const { return cluster_.fit && (nodes_ > 1 || cluster_.nodes == 1); }
  CostCurve cost(Operation operation) const;
  CostLine within_nodes(Operation operation) const;
  CollectiveTime compute(Operation operation, Bytes bytes) const;
  Seconds over_regions(Operation operation, Bytes bytes) const;

  const Cluster& cluster_;
  const Algorithm& algorithm_;
  int nodes_;
  int ranks_on_node_;
  CostCurve measured_;                                                    ///< all-reduces, by the fit
  std::vector<Hop> hops_;                                                 ///< of the ring over regions; else empty
  mutable std::map<Operation, Seconds> latencies_;                        ///< over regions, without bytes
  mutable std::map<std::pair<Operation, double>, CollectiveTime> known_;  ///< over regions, by operation and bytes
};

/// An all-reduce among the GPUs of a node.
CostLine all_reduce_within_node(const Cluster& cluster);

/// The indices of the regions in the order in which a ring through all nodes all-reduces `bytes` fastest; empty without regions, or
/// when a fit replaces their links.
std::vector<std::size_t> fastest_region_order(const Cluster& cluster, Bytes bytes);

/// The names of the regions in that order; empty unless nodes are placed by it.
std::vector<std::string> region_names(const Cluster& cluster, const std::vector<std::size_t>& order);

}  // namespace syncopate
