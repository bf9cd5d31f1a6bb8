#include "cluster/alpha_beta.hpp"

#include <algorithm>

#include "base/indexed.hpp"
#include "cluster/placement.hpp"
#include "cluster/ring_order.hpp"
#include "collective/ring_time.hpp"

namespace syncopate {

namespace {

LinkCost link_cost(const Link& link, SecondsPerByte gamma) {
  const Hop hop = link.hop();
  return {hop.latency, hop.beta, gamma};
}

/// The links of a ring. `nodes[i]` is the node at position i of the ring.
std::vector<Hop> hops_between(const Cluster& cluster, const std::vector<int>& nodes, const std::vector<std::size_t>& region_order) {
  std::vector<Hop> hops(nodes.size(), cluster.link.hop());
  if (cluster.regions) {
    const std::vector<std::size_t> region_of = regions_of_nodes(cluster, region_order);
    std::vector<std::size_t> regions;
    regions.reserve(nodes.size());
    for (const int node : nodes) regions.push_back(region_of[at(node)]);
    hops = ring_hops(*cluster.regions, regions, cluster.link);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] == nodes[(i + 1) % nodes.size()]) hops[i] = cluster.intra_node.hop();
  }
  return hops;
}

}  // namespace

CollectiveCosts::CollectiveCosts(const Cluster& cluster, const AllReduce& all_reduce, const Communicator& communicator, int ranks_per_node,
                                 const std::vector<std::size_t>& region_order)
    : CollectiveCosts(cluster, all_reduce, layout_on_nodes(communicator, ranks_per_node), region_order) {}

CollectiveCosts::CollectiveCosts(const Cluster& cluster, const AllReduce& all_reduce, const NodeLayout& layout,
                                 const std::vector<std::size_t>& region_order)
    : cluster_(cluster),
      algorithm_(*all_reduce.algorithm),
      nodes_(static_cast<int>(layout.nodes.size())),
      ranks_on_node_(layout.ranks_per_node),
      by_fit_(cluster.is_fitted() && (nodes_ > 1 || cluster.nodes == 1)),
      inside_(all_reduce.inside_in_network.value_or(all_reduce.in_network && nodes_ == 1) ? switches() : ring()) {
  for (const Operation operation : {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather, Operation::broadcast}) {
    if (by_fit_ && (operation == Operation::all_reduce || knows_cost(cluster, operation))) {
      const int ranks = nodes_ * ranks_on_node_;
      curves_[operation] = {collective_cost(cluster, operation, algorithm_, ranks), queued_cost(cluster, operation, algorithm_, ranks),
                            two_at_once_cost(cluster, operation, algorithm_, ranks)};
    } else if (!by_fit_ && !cluster.regions && !all_reduce.candidates.empty()) {
      std::vector<CostLine> lines;
      for (const AllReduce& candidate : all_reduce.candidates) lines.push_back(line(operation, *candidate.algorithm));
      const CostCurve fastest = lowest(std::move(lines));
      curves_[operation] = {fastest, fastest, std::nullopt};
    }
  }
  const bool is_flat = all_reduce.across_gpus && ranks_on_node_ > 1;
  if (by_fit_ || (!is_flat && (!cluster.regions || nodes_ == 1))) return;
  std::vector<int> nodes;  // by position in the ring
  for (const int node : layout.nodes) nodes.insert(nodes.end(), is_flat ? at(ranks_on_node_) : 1U, node);
  hops_ = hops_between(cluster, nodes, region_order);
  period_ = cluster.regions ? hops_.size() : at(ranks_on_node_);
  if (is_flat) ranks_on_node_ = 1;
}

CostLine CollectiveCosts::within_nodes(Operation operation) const {
  if (ranks_on_node_ == 1) return {};
  const LinkCost link = link_cost(cluster_.intra_node, cluster_.reduce);
  if (operation != Operation::broadcast) return cost_line(inside_.form(operation), ranks_on_node_, link);
  const double others = (ranks_on_node_ - 1.0) / ranks_on_node_;
  return CostLine{link.alpha, others * link.beta} + cost_line(ring().all_gather, ranks_on_node_, link);
}

CostLine CollectiveCosts::line(Operation operation, const Algorithm& algorithm) const {
  return within_nodes(operation) + cost_line(algorithm.form(operation), nodes_, link_cost(cluster_.link, cluster_.reduce));
}

CostCurve CollectiveCosts::cost(Operation operation, bool queued) const {
  if (curves_.empty()) return line(operation, algorithm_);
  const Curves& curves = curves_.at(operation);
  return queued ? curves.queued : curves.alone;
}

CostCurve CollectiveCosts::curve(Operation operation, Bytes bytes) const {
  if (hops_.empty()) return cost(operation);
  const Seconds latency = round_ring(operation, Bytes(0));
  const Seconds all = round_ring(operation, bytes);
  return within_nodes(operation) + CostLine{latency, SecondsPerByte((all - latency).value / bytes.value)};
}

CollectiveTime CollectiveCosts::operator()(Operation operation, Bytes bytes, bool queued) const {
  if (hops_.empty()) {
    const CostLine tangent = cost(operation, queued).tangent(bytes);
    const Seconds all = tangent(bytes);
    const auto curves = curves_.find(operation);
    Seconds latency = tangent.a;
    if (curves != curves_.end() && curves->second.two_at_once) {
      const Seconds longer = (*curves->second.two_at_once)(bytes)-curves->second.alone(bytes);
      latency = all - longer;
    }
    latency = std::clamp(latency, Seconds(0), all);
    return {latency, all - latency};
  }
  const auto [entry, is_new] = known_.try_emplace({operation, bytes.value});
  if (is_new) entry->second = compute(operation, bytes);
  return entry->second;
}

Seconds CollectiveCosts::round_ring(Operation operation, Bytes bytes) const {
  const int ranks = static_cast<int>(hops_.size());
  const Bytes chunk = bytes / ranks;
  const int once = ranks - 1;
  // All ranks start together, so if the links repeat with a period, the ranks' times do, too: one period is enough.
  const std::span<const Hop> hops(hops_.data(), period_);
  switch (operation) {
    case Operation::all_reduce: return ring_time(hops, 2 * once, chunk, once, cluster_.reduce);
    case Operation::reduce_scatter: return ring_time(hops, once, chunk, once, cluster_.reduce);
    case Operation::all_gather: return ring_time(hops, once, chunk, 0, cluster_.reduce);
    case Operation::broadcast: break;
  }
  return chain_time({hops_.data(), hops_.size() - 1}, ranks, chunk);
}

CollectiveTime CollectiveCosts::compute(Operation operation, Bytes bytes) const {
  const bool ring_closes = operation != Operation::broadcast;
  const auto slowest = std::max_element(hops_.begin(), ring_closes ? hops_.end() : hops_.end() - 1,
                                        [](const Hop& a, const Hop& b) { return a.beta < b.beta; });
  const int ranks = static_cast<int>(hops_.size());
  const int messages = operation == Operation::all_reduce ? 2 * (ranks - 1) : ring_closes ? ranks - 1 : ranks;
  const Seconds busiest = messages * (slowest->beta * (bytes / ranks));
  const Seconds total = round_ring(operation, bytes);
  const auto [latency, is_new] = latencies_.try_emplace(operation);
  if (is_new) latency->second = round_ring(operation, Bytes(0));
  const Seconds transfer = std::max(total - latency->second, busiest);
  const CostLine within = within_nodes(operation);
  return {total - transfer + within.a, transfer + within.b * bytes};
}

CostLine all_reduce_within_node(const Cluster& cluster) {
  return cost_line(ring().all_reduce, cluster.gpus_per_node, link_cost(cluster.intra_node, cluster.reduce));
}

std::vector<std::size_t> fastest_region_order(const Cluster& cluster, Bytes bytes) {
  if (!cluster.regions || cluster.is_fitted()) return {};
  return fastest_order(*cluster.regions, cluster.link, bytes, cluster.reduce);
}

std::vector<std::string> region_names(const Cluster& cluster, const std::vector<std::size_t>& order) {
  std::vector<std::string> names;
  if (cluster.placement.kind != Placement::Kind::by_region) return names;
  names.reserve(order.size());
  for (const std::size_t region : order) names.push_back(cluster.regions->list[region].name);
  return names;
}

}  // namespace syncopate
