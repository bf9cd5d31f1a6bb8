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
/// nodes (see two_level_plan). On regions, nodes form one ring over the regions' links; across GPUs, ranks do. A measured fit replaces all
/// of this, but among the GPUs of one of several nodes.
class CollectiveCosts {
 public:
  /// `ranks_per_node`: of the job; `region_order`: see fastest_region_order. Requires can_carry_fit. Throws SimulationError
  /// (layout_on_nodes).
  CollectiveCosts(const Cluster& cluster, const AllReduce& all_reduce, const Communicator& communicator, int ranks_per_node,
                  const std::vector<std::size_t>& region_order);

  /// Round a ring of different links the transfer is at least the time for which the slowest link is busy, so that no link carries more
  /// than it can, however many collectives are in flight. Other operations than an all-reduce need implies_link.
  CollectiveTime operator()(Operation operation, Bytes bytes) const;

  /// The operation by its bytes, for schedules that merge gradients. Exact but round a ring of different links: there it is a line through
  /// its ends, no bytes and `bytes`.
  CostCurve curve(Operation operation, Bytes bytes) const;

 private:
  CollectiveCosts(const Cluster& cluster, const AllReduce& all_reduce, const NodeLayout& layout,
                  const std::vector<std::size_t>& region_order);

  CostCurve cost(Operation operation) const;
  CostLine within_nodes(Operation operation) const;
  CollectiveTime compute(Operation operation, Bytes bytes) const;
  Seconds round_ring(Operation operation, Bytes bytes) const;

  const Cluster& cluster_;
  const Algorithm& algorithm_;
  int nodes_;
  int ranks_on_node_;
  bool by_fit_;
  std::map<Operation, CostCurve> measured_;                               ///< by the fits
  std::vector<Hop> hops_;                                                 ///< of a ring of different links; else empty
  std::size_t period_ = 0;                                                ///< so many hops come again and again
  mutable std::map<Operation, Seconds> latencies_;                        ///< round that, without bytes
  mutable std::map<std::pair<Operation, double>, CollectiveTime> known_;  ///< round that, by operation and bytes
};

/// An all-reduce among the GPUs of a node.
CostLine all_reduce_within_node(const Cluster& cluster);

/// The indices of the regions in the order in which a ring through all nodes all-reduces `bytes` fastest; empty without regions, or
/// when a fit replaces their links.
std::vector<std::size_t> fastest_region_order(const Cluster& cluster, Bytes bytes);

/// The names of the regions in that order; empty unless nodes are placed by it.
std::vector<std::string> region_names(const Cluster& cluster, const std::vector<std::size_t>& order);

}  // namespace syncopate
