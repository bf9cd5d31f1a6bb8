#include "cluster/costs.hpp"

#include <algorithm>

#include "cluster/placement.hpp"

namespace syncopate {

namespace {

LinkCost link_cost(const Link& link, SecondsPerByte gamma) { return {link.latency, inverse(link.bandwidth), gamma}; }

}  // namespace

CollectiveCosts::CollectiveCosts(const Cluster& cluster, const Collective& between, RankKind kind, Bytes bytes)
    : cluster_(cluster), nodes_(cluster.nodes), gpus_(kind == RankKind::gpu ? cluster.gpus_per_node : 1) {
  const CostShape& ring = collectives().front().cost;
  within_ = cost_line(ring, cluster.gpus_per_node, link_cost(cluster.intra_node, cluster.reduce));
  const CostLine own_within = gpus_ > 1 ? within_ : CostLine{};
  if (cluster.fit) {
    line_ = all_reduce_cost(cluster, between, nodes_ * gpus_);
    gather_ = all_gather_line(between.cost, nodes_ * gpus_,
                              implied_link(cluster.fit->algorithm->cost, cluster.fit->line, cluster.fit->ranks, cluster.reduce));
    return;
  }
  if (cluster.regions) {
    order_ = fastest_order(*cluster.regions, cluster.link, bytes, cluster.reduce);
    std::vector<std::size_t> of_nodes = regions_of_places(*cluster.regions);
    const std::vector<std::size_t> of_places = of_nodes;
    const std::vector<int> places = places_of_nodes(cluster, cluster.nodes, order_);
    for (std::size_t node = 0; node < places.size(); ++node) of_nodes[node] = of_places[static_cast<std::size_t>(places[node])];
    hops_ = ring_hops(*cluster.regions, of_nodes, cluster.link);
    const Seconds latency = ring_all_reduce(hops_, Bytes(0), cluster.reduce);
    const Seconds all = ring_all_reduce(hops_, bytes, cluster.reduce);
    line_ = own_within + CostLine{latency, SecondsPerByte((all - latency).value / bytes.value)};
    return;
  }
  const LinkCost link = link_cost(cluster.link, cluster.reduce);
  line_ = own_within + cost_line(between.cost, nodes_, link);
  gather_ = all_gather_line(between.cost, nodes_, link);
}

CollectiveTime CollectiveCosts::over_ring(int messages, Bytes chunk, int reduced) const {
  const Seconds total = ring_time(hops_, messages, chunk, reduced, cluster_.reduce);
  const auto [latency, is_new] = latencies_.try_emplace(messages);
  if (is_new) latency->second = ring_time(hops_, messages, Bytes(0), reduced, cluster_.reduce);
  const auto slowest = std::max_element(hops_.begin(), hops_.end(), [](const Hop& a, const Hop& b) { return a.beta < b.beta; });
  const Seconds busiest = messages * (slowest->beta * chunk);
  const Seconds transfer = std::max(total - latency->second, busiest);
  return {total - transfer, transfer};
}

CollectiveTime CollectiveCosts::operator()(Operation operation, Bytes bytes) const {
  if (hops_.empty()) return compute(operation, bytes);
  const auto [entry, is_new] = known_.try_emplace({operation, bytes.value});
  if (is_new) entry->second = compute(operation, bytes);
  return entry->second;
}

CollectiveTime CollectiveCosts::compute(Operation operation, Bytes bytes) const {
  if (operation == Operation::all_reduce) {
    if (hops_.empty()) return {line_.a, line_.b * bytes};
    CollectiveTime time = over_ring(2 * (nodes_ - 1), bytes / nodes_, nodes_ - 1);
    if (gpus_ == 1) return time;
    return {time.latency + within_.a, time.transfer + within_.b * bytes};
  }
  // All-gather of `bytes` of each rank: among the nodes, then every node's bytes among its GPUs.
  if (cluster_.fit) return {gather_.a, gather_.b * bytes};
  const Bytes of_node = gpus_ * bytes;
  const CollectiveTime between = hops_.empty() ? CollectiveTime{gather_.a, gather_.b * of_node} : over_ring(nodes_ - 1, of_node, 0);
  if (gpus_ == 1) return between;
  const CostLine within = all_gather_line(collectives().front().cost, gpus_, link_cost(cluster_.intra_node, cluster_.reduce));
  return {between.latency + within.a, between.transfer + within.b * (nodes_ * bytes)};
}

std::vector<std::string> CollectiveCosts::region_order() const {
  std::vector<std::string> names;
  if (cluster_.placement.kind != Placement::Kind::by_region) return names;
  names.reserve(order_.size());
  for (const std::size_t region : order_) names.push_back(cluster_.regions->list[region].name);
  return names;
}

}  // namespace syncopate
