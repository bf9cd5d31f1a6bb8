#include "cluster/topologies.hpp"

#include <fmt/format.h>

#include <array>
#include <simgrid/s4u.hpp>

#include "base/choice.hpp"
#include "cluster/cluster.hpp"

namespace syncopate {

namespace {

namespace s4u = simgrid::s4u;

/// A full-duplex link from every node to one switch without a limit of its own. Half of the end-to-end latency is on
/// each side.
std::vector<s4u::Host*> build_star(const Cluster& cluster, int nodes) {
  s4u::NetZone* zone = s4u::create_star_zone(cluster.name);
  std::vector<s4u::Host*> hosts;
  hosts.reserve(static_cast<std::size_t>(nodes));
  for (int node = 0; node < nodes; ++node) {
    s4u::Host* host = zone->create_host(fmt::format("node-{}", node), 1.0);
    const s4u::Link* link = zone->create_split_duplex_link(fmt::format("link-{}", node), cluster.link.bandwidth.value)
                                ->set_latency(cluster.link.latency.value / 2)
                                ->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {{link, s4u::LinkInRoute::Direction::UP}}, true);
    hosts.push_back(host);
  }
  zone->seal();
  return hosts;
}

constexpr std::array table = {
    Topology{"star", "every node has a link of its own to one non-blocking switch", "", build_star},
};

const std::vector<std::string> not_built_yet = {"fat-tree", "torus", "dragonfly"};

}  // namespace

std::span<const Topology> topologies() { return table; }

const Topology& read_topology(const Field& field) {
  if (!field.json().is_object()) return choose(field, topologies(), not_built_yet);
  Object fields(field);
  const Topology& topology = choose(fields.at("name"), topologies(), not_built_yet);
  fields.finish();
  return topology;
}

}  // namespace syncopate
