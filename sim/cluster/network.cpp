#include "cluster/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "base/indexed.hpp"

namespace syncopate {

namespace {

std::vector<int> first_nodes(int count) {
  std::vector<int> nodes(at(count));
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

int nodes_of_servers(const ServerPlaces& servers) { return servers.colocated ? 0 : servers.count; }

/// Some latency between `nodes` nodes, including nodes of servers only, is random.
bool some_latency_varies(const Cluster& cluster, int ranks_per_node, int nodes) {
  if (ranks_per_node > 1 && cluster.intra_node.jitter.varies()) return true;
  if (!cluster.regions) return nodes > 1 && cluster.link.jitter.varies();
  const std::vector<std::vector<Link>>& wan = cluster.regions->wan;
  const auto varies = [](const Link& link) { return link.jitter.varies(); };
  if (std::any_of(wan.begin(), wan.end(), [&](const auto& row) { return std::any_of(row.begin(), row.end(), varies); })) return true;
  return cluster.has_link && nodes > static_cast<int>(wan.size()) && cluster.link.jitter.varies();
}

Rate bandwidth_of(const Uplink& uplink, bool up) { return up ? uplink.up : uplink.down; }

}  // namespace

Network::Network(const Cluster& cluster, int ranks_per_node, const ServerPlaces& servers, const std::vector<std::size_t>& region_order)
    : cluster_(cluster),
      ranks_per_node_(ranks_per_node),
      own_nodes_(cluster.nodes),
      nodes_(cluster.nodes + nodes_of_servers(servers)),
      is_star_(cluster.is_star()),
      share_{.nodes = first_nodes(nodes_), .links = std::make_shared<KnownLinks>()},
      places_(places_of_nodes(cluster, cluster.regions ? cluster.nodes : nodes_, region_order)),
      latencies_vary_(some_latency_varies(cluster, ranks_per_node, nodes_)),
      links_(share_.links) {
  if (cluster.regions) place_region_ = regions_of_places(*cluster.regions);
  place_servers(servers);
}

Network::Network(const Cluster& cluster, NetworkShare share, int ranks_per_node, const ServerPlaces& servers)
    : cluster_(cluster),
      ranks_per_node_(ranks_per_node),
      own_nodes_(static_cast<int>(share.nodes.size())),
      nodes_(own_nodes_ + nodes_of_servers(servers)),
      is_star_(cluster.is_star()),
      share_(std::move(share)),
      places_(places_of_nodes(cluster, cluster.nodes + share_.all_servers, {})),
      latencies_vary_(some_latency_varies(cluster, ranks_per_node, nodes_)),
      links_(share_.links) {
  for (int server = 0; server < nodes_of_servers(servers); ++server) {
    share_.nodes.push_back(cluster.nodes + share_.servers_before + server);
  }
  place_servers(servers);
}

void Network::place_servers(const ServerPlaces& servers) {
  std::vector<int> near;  // nodes in the servers' region
  for (int node = 0; cluster_.regions && servers.region && node < own_nodes_; ++node) {
    if (region_of(node * ranks_per_node_) == *servers.region) near.push_back(node);
  }
  for (int server = 0; server < servers.count; ++server) {
    int node = server;
    if (cluster_.regions) {
      const auto evenly = static_cast<int>(static_cast<std::int64_t>(server) * cluster_.nodes / servers.count);
      node = servers.region ? near[at(server) % near.size()] : evenly;
    }
    if (!servers.colocated) {
      if (cluster_.regions) {
        const std::size_t region = region_of(node * ranks_per_node_);
        places_.push_back(static_cast<int>(place_region_.size()));
        place_region_.push_back(region);
      }
      node = own_nodes_ + server;
    }
    server_ranks_.push_back(node * ranks_per_node_);
  }
}

std::vector<Network::ServerGroup> Network::alike_servers() const {
  std::vector<ServerGroup> groups;
  std::map<std::size_t, std::size_t> places;  // in `groups`, by region
  for (const int server : server_ranks_) {
    const bool has_likes = !latencies_vary_ && node_of(server) >= own_nodes_ && (is_star_ || cluster_.regions);
    const auto [place, is_new] = places.try_emplace(cluster_.regions ? region_of(server) : 0, groups.size());
    if (is_new || !has_likes) {
      groups.push_back({server, server});
      continue;
    }
    ServerGroup& group = groups[place->second];
    if (group.servers++ == 1) group.second = server;
  }
  return groups;
}

const Path& Network::path(int from, int to) {
  const long key = static_cast<long>(from) * (static_cast<long>(nodes_) * ranks_per_node_) + to;
  const auto [entry, is_new] = paths_.try_emplace(key);
  if (is_new) entry->second = find_path(from, to);
  return entry->second;
}

Path Network::find_path(int from, int to) {
  if (node_of(from) == node_of(to)) return path_inside_node(from, to);
  if (cluster_.regions) return path_over_regions(from, to);
  if (is_star_) {
    return limited({{node_link(from, true), node_link(to, false)}, cluster_.link.latency, cluster_.link.bandwidth}, cluster_.link);
  }
  return path_over_topology(from, to);
}

Hop Network::hop(int from, int to) {
  if (is_star_ || cluster_.regions || node_of(from) == node_of(to)) return direct_hop(from, to);
  return figures_over_topology(from, to, cluster_.topology->route(place_of(from), place_of(to)).size()).hop();
}

Hop Network::direct_hop(int from, int to) {
  if (node_of(from) == node_of(to)) return cluster_.intra_node.hop();
  return cluster_.regions || cluster_.platform ? path(from, to).hop() : cluster_.link.hop();
}

Path Network::path_inside_node(int from, int to) {
  return limited({{gpu_link(from, true), gpu_link(to, false)}, cluster_.intra_node.latency, cluster_.intra_node.bandwidth},
                 cluster_.intra_node);
}

Path Network::path_over_regions(int from, int to) {
  const std::size_t source = region_of(from);
  const std::size_t target = region_of(to);
  if (source == target && !cluster_.has_link) return {{}, Seconds(0), Rate(std::numeric_limits<double>::infinity())};
  const bool leaves = source != target;
  const Regions& regions = *cluster_.regions;
  const Link& between = leaves ? regions.wan[source][target] : cluster_.link;
  Path path = limited({{}, between.latency, leaves ? regions.flow_rate(source, target) : between.bandwidth}, between);
  if (cluster_.has_link) {
    path.links.push_back(node_link(from, true));
    path.rate = std::min(path.rate, cluster_.link.bandwidth);
  }
  if (leaves) {
    cross_uplinks(from, true, path.links);
    cross_wan(source, target, path);
    cross_uplinks(to, false, path.links);
  }
  if (cluster_.has_link) path.links.push_back(node_link(to, false));
  return path;
}

void Network::cross_wan(std::size_t from, std::size_t to, Path& path) {
  const Regions& regions = *cluster_.regions;
  if (!regions.are_linked(from, to)) return;
  const auto [source, target] = std::pair(static_cast<int>(from), static_cast<int>(to));
  if (!regions.wan[from][to].download) {
    const auto [lower, upper] = std::minmax({source, target});
    return path.links.push_back(link_between(KnownLink::Kind::wan, lower, upper, source < target));
  }
  path.links.push_back(link_between(KnownLink::Kind::storage, source, target, true));
  const auto [out, in] = regions.bandwidths(from, to);
  const Rate inside = cluster_.has_link ? cluster_.link.bandwidth : infinite_bandwidth;
  path.storage = {path.links.size(), std::min(out, inside), std::min(in, inside)};
  path.rate = in_sequence(path.storage->upload, path.storage->download);
  path.links.push_back(link_between(KnownLink::Kind::storage, target, source, false));
}

void Network::cross_uplinks(int rank, bool up, std::vector<std::size_t>& links) {
  const std::size_t region = region_of(rank);
  const auto first = static_cast<std::ptrdiff_t>(links.size());
  const Region& region_links = cluster_.regions->list[region];
  if (region_links.node_uplink.is_there())
    links.push_back(links_->number_of({KnownLink::Kind::node_uplink, up, static_cast<std::uint32_t>(whole_node_of(rank))}));
  if (region_links.uplink.is_there()) links.push_back(links_->number_of({KnownLink::Kind::uplink, up, static_cast<std::uint32_t>(region)}));
  if (!up) std::reverse(links.begin() + first, links.end());
}

Path Network::limited(Path path, const Link& link) {
  path.over = &link;
  path.limit = link.limit(path.latency);
  path.rate = std::min(path.rate, path.limit);
  return path;
}

Seconds Network::latency_over(std::size_t links) const {
  const std::size_t all = links + (cluster_.topology->has_node_links() ? 2 : 0);
  return static_cast<double>(all) / cluster_.topology->nearest_links() * cluster_.link.latency;
}

Path Network::figures_over_topology(int from, int to, std::size_t links) const {
  const auto own = cluster_.topology->figures(place_of(from), place_of(to));
  if (!own) return limited({{}, latency_over(links), cluster_.link.bandwidth}, cluster_.link);
  Path path = {.links = {}, .latency = own->latency, .rate = own->rate, .limit = own->limit, .over = &cluster_.link};
  path.latencies = cluster_.topology->latency_changes(place_of(from), place_of(to), cluster_.link_changes);
  return path;
}

Path Network::path_over_topology(int from, int to) {
  const std::vector<InnerLink> route = cluster_.topology->route(place_of(from), place_of(to));
  Path path = figures_over_topology(from, to, route.size());
  path.links.reserve(route.size() + 2);
  if (cluster_.topology->has_node_links()) path.links.push_back(node_link(from, true));
  for (const InnerLink& link : route) path.links.push_back(link_between(KnownLink::Kind::inner, link.lower, link.upper, link.up));
  if (cluster_.topology->has_node_links()) path.links.push_back(node_link(to, false));
  return path;
}

std::size_t Network::node_link(int rank, bool up) {
  return links_->number_of({KnownLink::Kind::node, up, static_cast<std::uint32_t>(whole_node_of(rank))});
}

std::size_t Network::gpu_link(int rank, bool up) {
  const int node = share_.job * cluster_.nodes + whole_node_of(rank);
  return links_->number_of({KnownLink::Kind::gpu, up, static_cast<std::uint32_t>(node * ranks_per_node_ + rank % ranks_per_node_)});
}

std::size_t Network::link_between(KnownLink::Kind kind, int lower, int upper, bool forward) {
  return links_->number_of({kind, forward, static_cast<std::uint32_t>(lower), static_cast<std::uint32_t>(upper)});
}

const Link& Network::wan(const KnownLink& link) const {
  const auto [from, to] = link.forward ? std::pair(link.number, link.upper) : std::pair(link.upper, link.number);
  return cluster_.regions->wan[from][to];
}

std::string Network::level_of(const KnownLink& link) const {
  switch (link.kind) {
    case KnownLink::Kind::gpu: return "gpu";
    case KnownLink::Kind::inner: return cluster_.topology->level(inner(link));
    case KnownLink::Kind::wan:
    case KnownLink::Kind::storage: return "wan";
    case KnownLink::Kind::uplink: return "uplink";
    case KnownLink::Kind::node_uplink: return is_of_server(link) ? "server-uplink" : "node-uplink";
    case KnownLink::Kind::node: break;
  }
  return is_of_server(link) ? "server" : "node";
}

std::string Network::cable_of(const KnownLink& link) const {
  const std::string level = level_of(link);
  switch (link.kind) {
    case KnownLink::Kind::inner: return cluster_.topology->named(inner(link)).cable;
    case KnownLink::Kind::wan:
      return fmt::format("{} {}-{}", level, cluster_.regions->list[link.number].name, cluster_.regions->list[link.upper].name);
    case KnownLink::Kind::storage:
      return fmt::format("{} {}-{} storage", level, cluster_.regions->list[link.number].name, cluster_.regions->list[link.upper].name);
    case KnownLink::Kind::uplink: return fmt::format("{} {}", level, cluster_.regions->list[link.number].name);
    case KnownLink::Kind::gpu: return fmt::format("{}-{}", level, static_cast<int>(link.number) % cluster_.workers());
    case KnownLink::Kind::node:
    case KnownLink::Kind::node_uplink: break;
  }
  const int number = static_cast<int>(link.number);
  return fmt::format("{}-{}", level, is_of_server(link) ? number - cluster_.nodes : number);
}

NetworkLink Network::link(std::size_t number) const {
  const KnownLink& known = (*links_)[number];
  if (known.kind == KnownLink::Kind::inner) {
    const Topology::LinkName own = cluster_.topology->named(inner(known));
    return {own.name, bandwidth(number), level_of(known), own.cable, own.forward, own.shares_directions};
  }
  const std::string cable = cable_of(known);
  if (known.kind == KnownLink::Kind::storage) {
    const auto [from, to] = known.forward ? std::pair(known.number, known.upper) : std::pair(known.upper, known.number);
    const std::vector<Region>& regions = cluster_.regions->list;
    const std::string name = fmt::format("wan {}-{} {}", regions[from].name, regions[to].name, known.forward ? "upload" : "download");
    return {name, bandwidth(number), level_of(known), cable, known.forward};
  }
  const bool is_wan = known.kind == KnownLink::Kind::wan;
  const std::string from_upper = is_wan ? cable_of({known.kind, true, known.upper, known.number}) : cable + " down";
  const std::string from_lower = is_wan ? cable : cable + " up";
  return {known.forward ? from_lower : from_upper, bandwidth(number), level_of(known), cable, known.forward};
}

int Network::group(std::size_t link) const {
  const KnownLink& known = (*links_)[link];
  switch (known.kind) {
    case KnownLink::Kind::gpu: return inside_node;
    case KnownLink::Kind::inner: return of_switches;
    case KnownLink::Kind::wan:
    case KnownLink::Kind::storage: return group_of_regions(known.number, known.upper);
    case KnownLink::Kind::uplink: return group_of_uplink(known.number, false);
    case KnownLink::Kind::node_uplink: return group_of_uplink(region_of_uplink(known), true);
    case KnownLink::Kind::node: break;
  }
  return of_nodes;
}

int Network::group_of_regions(std::size_t region, std::size_t second) const {
  return of_regions + 1 + static_cast<int>(std::min(region, second) * cluster_.regions->list.size() + std::max(region, second));
}

int Network::group_of_uplink(std::size_t region, bool of_node) const {
  const std::size_t regions = cluster_.regions->list.size();
  return group_of_regions(regions - 1, regions - 1) + 1 + static_cast<int>(2 * region + (of_node ? 1 : 0));
}

int Network::group_between(int from, int to) const {
  if (share_node(from, to)) return inside_node;
  if (!cluster_.regions || region_of(from) == region_of(to)) return of_nodes;
  return group_of_regions(region_of(from), region_of(to));
}

int Network::narrowest_group(int from, int to) const {
  const int between = group_between(from, to);
  if (between < of_regions) return between;
  const Regions& regions = *cluster_.regions;
  const std::size_t source = region_of(from);
  const std::size_t target = region_of(to);
  const Region& here = regions.list[source];
  const Region& there = regions.list[target];
  const std::array ways = {
      std::pair(regions.wan[source][target].flow_rate(), between), std::pair(here.node_uplink.up, group_of_uplink(source, true)),
      std::pair(here.uplink.up, group_of_uplink(source, false)), std::pair(there.uplink.down, group_of_uplink(target, false)),
      std::pair(there.node_uplink.down, group_of_uplink(target, true))};
  return std::min_element(ways.begin(), ways.end(), [](const auto& a, const auto& b) { return a.first < b.first; })->second;
}

std::string Network::group_name(int group) const {
  switch (group) {
    case of_nodes: return "link";
    case inside_node: return "intra_node";
    case of_switches: return fmt::format("link, {}", cluster_.topology->name());
    case of_regions: return "wan";
    default: break;
  }
  if (group < of_nodes || !cluster_.regions) throw std::logic_error(fmt::format("the network has no links of group {}", group));
  const std::vector<Region>& regions = cluster_.regions->list;
  if (const int uplink = group - group_of_uplink(0, false); uplink >= 0) {
    return fmt::format("{} {}", uplink % 2 == 1 ? "node_uplink" : "uplink", regions[at(uplink) / 2].name);
  }
  const auto pair = at(group - of_regions - 1);
  return fmt::format("wan {} - {}", regions[pair / regions.size()].name, regions[pair % regions.size()].name);
}

bool Network::comes_before(std::size_t link, std::size_t other) const {
  const auto key = [this](std::size_t index) {
    const KnownLink& known = (*links_)[index];
    return std::tuple(known.kind, known.number, known.upper, !known.forward);
  };
  return key(link) < key(other);
}

Rate Network::bandwidth(std::size_t link) const {
  const KnownLink& known = (*links_)[link];
  switch (known.kind) {
    case KnownLink::Kind::gpu: return cluster_.intra_node.bandwidth;
    case KnownLink::Kind::wan: return wan(known).bandwidth;
    case KnownLink::Kind::storage: return known.forward ? wan(known).bandwidth : *wan(known).download;
    case KnownLink::Kind::uplink: return bandwidth_of(cluster_.regions->list[known.number].uplink, known.forward);
    case KnownLink::Kind::node_uplink: return bandwidth_of(cluster_.regions->list[region_of_uplink(known)].node_uplink, known.forward);
    case KnownLink::Kind::inner: return cluster_.topology->bandwidth(inner(known)).value_or(cluster_.link.bandwidth);
    case KnownLink::Kind::node: break;
  }
  return cluster_.link.bandwidth;
}

const LinkChanges::Changes* Network::changes_of(std::size_t link) const {
  const KnownLink& known = (*links_)[link];
  if (known.kind == KnownLink::Kind::wan) {
    const LinkChanges::Changes& changes = wan(known).bandwidth_changes;
    return changes.empty() ? nullptr : &changes;
  }
  const LinkChanges& all = cluster_.link_changes;
  if (known.kind == KnownLink::Kind::inner && !all.of_names.empty()) {
    const auto [changes, is_new] = inner_changes_.try_emplace(link);
    if (is_new) changes->second = all.of(cluster_.topology->named(inner(known)));
    return changes->second;
  }
  if (known.kind != KnownLink::Kind::node) return nullptr;
  const auto found = all.of_nodes.find(static_cast<int>(known.number));
  return found == all.of_nodes.end() ? nullptr : &found->second;
}

Rate Network::bandwidth(std::size_t link, Seconds time) const {
  const LinkChanges::Changes* changes = changes_of(link);
  return changes == nullptr ? bandwidth(link) : value_at(time, bandwidth(link), *changes);
}

bool Network::changes(std::size_t link) const { return changes_of(link) != nullptr; }

std::vector<Seconds> Network::times_of_changes() const {
  std::vector<Seconds> times;
  const auto add = [&](const auto& changes) {
    for (const auto& change : changes) times.push_back(change.at);
  };
  for (const auto& [node, changes] : cluster_.link_changes.of_nodes) add(changes);
  for (const auto& [name, changes] : cluster_.link_changes.of_names) add(changes);
  for (const auto& [name, changes] : cluster_.link_changes.latencies) add(changes);
  if (cluster_.regions) {
    for (const std::vector<Link>& row : cluster_.regions->wan) {
      for (const Link& link : row) {
        add(link.bandwidth_changes);
        add(link.latency_changes);
      }
    }
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

}  // namespace syncopate
