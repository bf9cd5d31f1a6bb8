#include "cluster/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <simgrid/s4u.hpp>

#include "cluster/placement.hpp"
#include "cluster/simgrid.hpp"

namespace syncopate {

namespace s4u = simgrid::s4u;

namespace {

/// SimGrid's sizes are whole numbers of 64 bits: the power of two that makes the best use of them.
double best_scale(Bytes largest) {
  constexpr double most_units = 0x1p60;
  return std::exp2(std::floor(std::log2(most_units / std::max(largest.value, 1.0))));
}

}  // namespace

Network::Network(const Cluster& cluster, int ranks_per_node, int servers, const std::vector<std::size_t>& region_order, Bytes largest)
    : cluster_(cluster),
      ranks_per_node_(ranks_per_node),
      nodes_(cluster.nodes + servers),
      is_star_(!cluster.regions && cluster.topology->name() == default_topology()->name()),
      places_(places_of_nodes(cluster, nodes_, region_order)),
      scale_(best_scale(largest)) {
  if (cluster.regions) place_region_ = regions_of_places(*cluster.regions);
}

Network::~Network() = default;

bool Network::changes_with_time() const { return cluster_.regions && cluster_.regions->change_with_time(); }

const Path& Network::path(int from, int to) {
  const long key = static_cast<long>(from) * (static_cast<long>(nodes_) * ranks_per_node_) + to;
  const auto [entry, is_new] = paths_.try_emplace(key);
  if (is_new) entry->second = find_path(from, to);
  return entry->second;
}

Path Network::find_path(int from, int to) {
  if (node_of(from) == node_of(to)) return path_inside_node(from, to);
  if (cluster_.regions) return path_over_regions(from, to);
  if (is_star_) return {{node_link(from, true), node_link(to, false)}, cluster_.link.latency, cluster_.link.bandwidth};
  return cluster_.topology->knows_routes() ? path_between_switches(from, to) : path_over_zone(from, to);
}

Hop Network::hop(int from, int to) {
  if (node_of(from) == node_of(to)) return {cluster_.intra_node.latency, inverse(cluster_.intra_node.bandwidth)};
  if (is_star_) return {cluster_.link.latency, inverse(cluster_.link.bandwidth)};
  if (cluster_.regions || !cluster_.topology->knows_routes()) return path(from, to).hop();
  return {latency_over(cluster_.topology->route(place_of(from), place_of(to)).size() + 2), inverse(cluster_.link.bandwidth)};
}

Path Network::path_inside_node(int from, int to) {
  using enum KnownLink::Kind;
  return {{known_link(gpu, from, true), known_link(gpu, to, false)}, cluster_.intra_node.latency, cluster_.intra_node.bandwidth};
}

Path Network::path_over_regions(int from, int to) {
  const std::size_t source = region_of(from);
  const std::size_t target = region_of(to);
  const Link& between = source == target ? cluster_.link : cluster_.regions->wan[source][target];
  Path path = {{}, between.latency, between.flow_rate()};
  if (cluster_.has_link) {
    path.links.push_back(node_link(from, true));
    path.rate = std::min(path.rate, cluster_.link.bandwidth);
  }
  if (source != target) {
    const std::string& low = cluster_.regions->list[std::min(source, target)].name;
    const std::string& high = cluster_.regions->list[std::max(source, target)].name;
    const bool forward = source < target;
    path.links.push_back(other_link(fmt::format("wan {}-{}", low, high), forward, between.bandwidth,
                                    fmt::format("wan {}-{}", forward ? low : high, forward ? high : low), !between.changes.empty()));
  }
  if (cluster_.has_link) path.links.push_back(node_link(to, false));
  return path;
}

Seconds Network::latency_over(std::size_t links) const {
  return static_cast<double>(links) / cluster_.topology->nearest_links() * cluster_.link.latency;
}

Path Network::path_between_switches(int from, int to) {
  const std::vector<SwitchLink> route = cluster_.topology->route(place_of(from), place_of(to));
  Path path = {{node_link(from, true)}, latency_over(route.size() + 2), cluster_.link.bandwidth};
  path.links.reserve(route.size() + 2);
  for (const SwitchLink& link : route) {
    const std::string cable = fmt::format("switch {} - switch {}", link.lower, link.upper);
    path.links.push_back(other_link(cable, link.up, cluster_.link.bandwidth, cable + (link.up ? " up" : " down")));
  }
  path.links.push_back(node_link(to, false));
  return path;
}

Path Network::path_over_zone(int from, int to) {
  build();
  const auto [source, target] = hosts(from, to);
  std::vector<s4u::Link*> route;
  double no_latency = 0.0;
  source->route_to(target, route, &no_latency);
  Path path = {{}, latency_over(route.size()), cluster_.link.bandwidth};
  for (std::size_t i = 0; i < route.size(); ++i) {
    if (cluster_.topology->has_node_links() && (i == 0 || i + 1 == route.size())) {
      path.links.push_back(node_link(i == 0 ? from : to, i == 0));
      continue;
    }
    const std::string name = route[i]->get_name();  // ends in _UP or _DOWN
    const bool up = name.ends_with("_UP");
    const std::string cable = cluster_.topology->link_name(name.substr(0, name.rfind('_')));
    path.links.push_back(other_link(cable, up, cluster_.link.bandwidth, cable + (up ? " up" : " down")));
  }
  return path;
}

std::size_t Network::known_link(KnownLink::Kind kind, int number, bool forward) {
  const bool is_node = kind == KnownLink::Kind::node;
  std::vector<std::uint32_t>& numbers = is_node ? node_links_ : gpu_links_;
  if (numbers.empty()) numbers.resize(2 * static_cast<std::size_t>(is_node ? nodes_ : cluster_.nodes * ranks_per_node_), none);
  std::uint32_t& its = numbers[2 * static_cast<std::size_t>(number) + (forward ? 0 : 1)];
  if (its == none) {
    its = static_cast<std::uint32_t>(links_.size());
    links_.push_back({kind, forward, static_cast<std::uint32_t>(number)});
  }
  return its;
}

std::size_t Network::other_link(const std::string& cable, bool forward, Rate bandwidth, const std::string& name, bool changes) {
  const auto [entry, is_new] = other_links_.try_emplace(name, links_.size());
  if (is_new) {
    links_.push_back({KnownLink::Kind::other, forward, static_cast<std::uint32_t>(others_.size())});
    others_.push_back({name, bandwidth, cable, forward, changes});
  }
  return entry->second;
}

NetworkLink Network::link(std::size_t number) const {
  const KnownLink& its = links_[number];
  if (its.kind == KnownLink::Kind::other) return others_[its.number];
  const int own = static_cast<int>(its.number);
  const std::string cable = its.kind == KnownLink::Kind::gpu ? fmt::format("gpu-{}", own)
                            : own < cluster_.nodes           ? fmt::format("node-{}", own)
                                                             : fmt::format("server-{}", own - cluster_.nodes);
  return {cable + (its.forward ? " up" : " down"), bandwidth(number), cable, its.forward, false};
}

Rate Network::bandwidth(std::size_t link) const {
  switch (links_[link].kind) {
    case KnownLink::Kind::node: return cluster_.link.bandwidth;
    case KnownLink::Kind::gpu: return cluster_.intra_node.bandwidth;
    case KnownLink::Kind::other: break;
  }
  return others_[links_[link].number].bandwidth;
}

void Network::build() {
  if (!hosts_.empty()) return;
  if (cluster_.regions) {
    build_regions();
  } else {
    const int needed = *std::max_element(places_.begin(), places_.end()) + 1;
    hosts_ = cluster_.topology->build(is_star_ ? needed : nodes_, scale_ * cluster_.link.bandwidth.value);
  }
  if (ranks_per_node_ > 1) build_insides();
}

void Network::build_regions() {
  const Regions& regions = *cluster_.regions;
  s4u::NetZone* world = in_world(&s4u::create_full_zone, "regions");
  std::vector<s4u::NetZone*> zones;
  std::vector<simgrid::kernel::routing::NetPoint*> gateways;
  for (std::size_t region = 0; region < regions.list.size(); ++region) {
    s4u::NetZone* zone = s4u::create_star_zone(fmt::format("region-{}", region));
    zone->set_parent(world);
    gateways.push_back(zone->create_router(fmt::format("gateway-{}", region)));
    zone->add_route(gateways.back(), nullptr, nullptr, nullptr, std::vector<s4u::LinkInRoute>{}, true);
    for (int node = 0; node < regions.list[region].nodes; ++node) {
      const auto place = hosts_.size();
      hosts_.push_back(zone->create_host(fmt::format("place-{}", place), 1.0));
      std::vector<s4u::LinkInRoute> links;
      if (cluster_.has_link) {
        const s4u::Link* cable =
            zone->create_split_duplex_link(fmt::format("link-{}", place), scale_ * cluster_.link.bandwidth.value)->seal();
        links.emplace_back(cable, s4u::LinkInRoute::Direction::UP);
      }
      zone->add_route(hosts_.back()->get_netpoint(), nullptr, nullptr, nullptr, links, true);
    }
    zone->seal();
    zones.push_back(zone);
  }
  for (std::size_t a = 0; a < zones.size(); ++a) {
    for (std::size_t b = 0; b < zones.size(); ++b) {
      if (a == b) continue;
      const Link& wan = regions.wan[a][b];
      s4u::Link* link = world->create_link(fmt::format("wan-{}-{}", a, b), scale_ * wan.bandwidth.value);
      for (const BandwidthChange& change : wan.changes) {
        changes_.push_back(
            {change.at, fmt::format("wan {}-{}", regions.list[a].name, regions.list[b].name), link, scale_ * change.bandwidth.value});
      }
      link->seal();
      std::vector<s4u::LinkInRoute> route = {s4u::LinkInRoute(link)};
      if (wan.has_window()) {
        // SimGrid's direct communications have no limit of their own; a fat pipe limits each flow on it, and not all together.
        s4u::Link* window = world->create_link(fmt::format("window-{}-{}", a, b), scale_ * wan.window_rate().value);
        route.emplace_back(window->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE)->seal());
      }
      world->add_route(zones[a]->get_netpoint(), zones[b]->get_netpoint(), gateways[a], gateways[b], route, false);
    }
  }
  world->seal();
}

void Network::build_insides() {
  s4u::NetZone* zone = in_world(&s4u::create_star_zone, "inside-nodes");
  const int ranks = cluster_.nodes * ranks_per_node_;
  for (int rank = 0; rank < ranks; ++rank) {
    s4u::Host* host = zone->create_host(fmt::format("gpu-{}", rank), 1.0);
    const s4u::Link* cable =
        zone->create_split_duplex_link(fmt::format("gpu-link-{}", rank), scale_ * cluster_.intra_node.bandwidth.value)->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {{cable, s4u::LinkInRoute::Direction::UP}}, true);
    inside_.push_back(host);
  }
  zone->seal();
}

std::pair<s4u::Host*, s4u::Host*> Network::hosts(int from, int to) const {
  if (node_of(from) == node_of(to)) return {inside_[static_cast<std::size_t>(from)], inside_[static_cast<std::size_t>(to)]};
  const auto host = [this](int rank) { return hosts_[static_cast<std::size_t>(place_of(rank))]; };
  return {host(from), host(to)};
}

}  // namespace syncopate
