#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster.hpp"
#include "collective/collective.hpp"

namespace syncopate {

/// Who runs a schedule: every GPU, or every node, whose GPUs act as one.
enum class RankKind { gpu, node };

/// What collectives cost on a cluster in alpha-beta fidelity, over all ranks of a schedule.
///
/// Where nodes have several GPUs and each is a rank, a collective has two levels: an all-reduce is a ring among the GPUs of each
/// node (the first half of it reduces, the second spreads the result) and `between` among the nodes. On regions, nodes form
/// one ring over the regions' links. A measured fit replaces all of this for all-reduces, and gives the links of the rest.
class CollectiveCosts {
 public:
  /// `bytes`: of the model; decides the order of regions, and where all_reduce_line is exact. Requires can_carry_fit.
  CollectiveCosts(const Cluster& cluster, const Collective& between, RankKind kind, Bytes bytes);

  /// Over regions the transfer is at least the time for which the slowest link is busy, so that no link carries more than it
  /// can, however many collectives are in flight.
  CollectiveTime operator()(Operation operation, Bytes bytes) const;

  /// The all-reduce as a line, for schedules that merge gradients. Exact but on regions: there its ends are, no bytes and the model's.
  CostLine all_reduce_line() const { return line_; }

  /// An all-reduce among the GPUs of a node.
  CostLine within_node() const { return within_; }

  /// The regions' names as the ring passes through them; empty unless nodes are placed by region, or when a fit replaces their links.
  /// The indices of regions in that order, likewise.
  const std::vector<std::size_t>& fastest_region_order() const { return order_; }
  std::vector<std::string> region_order() const;

 private:
  CollectiveTime compute(Operation operation, Bytes bytes) const;
  CollectiveTime over_ring(int messages, Bytes chunk, int reduced) const;

  const Cluster& cluster_;
  int nodes_;
  int gpus_;  ///< per node, that are ranks
  CostLine within_;
  CostLine line_;
  CostLine gather_;
  std::vector<std::size_t> order_;
  std::vector<Hop> hops_;                                                 ///< of the ring over regions; else empty
  mutable std::map<int, Seconds> latencies_;                              ///< over regions, of so many messages without bytes
  mutable std::map<std::pair<Operation, double>, CollectiveTime> known_;  ///< over regions, by operation and bytes
};

}  // namespace syncopate
