#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster.hpp"
#include "collective/communicator.hpp"
#include "collective/payload.hpp"

namespace syncopate {

/// The cost of a communicator's collectives in alpha-beta fidelity.
///
/// If several ranks share a node, a collective has two levels: a ring among the ranks of each node, and the scenario's algorithm among the
/// nodes (see two_level_plan). On regions, the nodes form one ring over the regions' links. A ring "across" GPUs is one ring of all ranks.
///
/// Of an all-reduce with candidates, the one that is fastest for the bytes counts; on regions the ring.
///
/// A measured fit replaces all of this. Exception: the GPUs of one node in a cluster of several nodes.
class CollectiveCosts {
 public:
  /// `ranks_per_node`: ranks of the job on each node. `region_order`: see fastest_region_order. Requires can_carry_fit. Throws
  /// SimulationError (see layout_on_nodes).
  CollectiveCosts(const Cluster& cluster, const AllReduce& all_reduce, const Communicator& communicator, int ranks_per_node,
                  const std::vector<std::size_t>& region_order);

  /// `queued`: of one that starts the moment another one ends; differs if the cluster's fit says so. Where the fit has times of two at
  /// once, the transfer is what two take longer than one; else it is the tangent's. On a ring of different links, the
  /// transfer lasts at least as long as the slowest link is busy. So no link carries more than its bandwidth, however many collectives are
  /// in flight. Operations other than an all-reduce require implies_link.
  CollectiveTime operator()(Operation operation, Bytes bytes, bool queued = false) const;

  /// The cost as a function of bytes, for schedules that merge gradients. Exact, except on a ring of different links: there it is the line
  /// through the costs of 0 bytes and of `bytes`.
  CostCurve curve(Operation operation, Bytes bytes) const;

 private:
  CollectiveCosts(const Cluster& cluster, const AllReduce& all_reduce, const NodeLayout& layout,
                  const std::vector<std::size_t>& region_order);

  CostCurve cost(Operation operation, bool queued = false) const;
  CostLine within_nodes(Operation operation) const;
  CostLine line(Operation operation, const Algorithm& algorithm) const;
  CollectiveTime compute(Operation operation, Bytes bytes) const;
  Seconds round_ring(Operation operation, Bytes bytes) const;

  const Cluster& cluster_;
  const Algorithm& algorithm_;
  int nodes_;
  int ranks_on_node_;
  bool by_fit_;
  const Algorithm& inside_;  ///< within nodes
  struct Curves {
    CostCurve alone;
    CostCurve queued;
    std::optional<CostCurve> two_at_once;
  };
  std::map<Operation, Curves> curves_;                                    ///< from the cluster's fits, or of the fastest candidates
  std::vector<Hop> hops_;                                                 ///< links of a ring with different links; else empty
  std::size_t period_ = 0;                                                ///< hops_ repeats with this period; 0: no ring of different links
  mutable std::map<Operation, Seconds> latencies_;                        ///< around hops_, for 0 bytes
  mutable std::map<std::pair<Operation, double>, CollectiveTime> known_;  ///< around hops_, by operation and bytes
};

/// Cost of an all-reduce among the GPUs of one node.
CostLine all_reduce_within_node(const Cluster& cluster);

/// The order of regions in which a ring through all nodes all-reduces `bytes` fastest, as indices. Empty without regions, or if a fit
/// replaces the regions' links.
std::vector<std::size_t> fastest_region_order(const Cluster& cluster, Bytes bytes);

/// The names of the regions in `order`. Empty unless nodes are placed by region.
std::vector<std::string> region_names(const Cluster& cluster, const std::vector<std::size_t>& order);

}  // namespace syncopate
