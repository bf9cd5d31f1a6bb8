#include "cluster/topologies.hpp"

#include <fmt/format.h>

#include <array>

#include "base/choice.hpp"
#include "base/document.hpp"

namespace syncopate {

namespace {

constexpr std::array topology_table = {
    TopologyRow{"star", "every node has a link of its own to one non-blocking switch", "", "", read_star},
    TopologyRow{"fat-tree", "three levels of switches with k ports; fewer links above the leaf switches where oversubscribed",
                "k (the smallest that fits), oversubscription (1)", "", read_fat_tree},
    TopologyRow{"tree", "switches in a tree, each with one link to the one above it, such as PCIe's",
                "arity (2), levels (the least that fit)", "", read_tree},
    TopologyRow{"torus", "a grid of two or three dimensions whose ends meet; nodes are linked to their neighbours",
                "dimensions (a square that fits)", "", read_torus},
    TopologyRow{"dragonfly", "groups of chassis of routers with nodes; one link between each two groups", "groups, chassis, routers, nodes",
                R"({"name": "dragonfly", "groups": 3, "chassis": 4, "routers": 4, "nodes": 2})", read_dragonfly},
};

}  // namespace

Topology::LinkName Topology::named(const InnerLink& link) const {
  if (auto own = link_name(link)) return *own;
  const std::string cable = fmt::format("{0}: {1} {2} - {1} {3}", level(link), switch_name(), link.lower, link.upper);
  return {cable + (link.up ? " up" : " down"), cable, link.up};
}

std::span<const TopologyRow> topologies() { return topology_table; }

std::shared_ptr<const Topology> read_topology(const Field& field, int nodes) {
  if (!field.is_object()) {
    const TopologyRow& row = choose(field, topologies());
    if (!row.example.empty()) field.fail_because(fmt::format("a {} needs its sizes, such as {}", row.name, row.example));
    const Document no_parameters(Json{{"name", row.name}}, field.document().file());
    Object fields{Field(no_parameters)};
    fields.find("name");
    return row.read(fields, nodes);
  }
  Object fields(field);
  std::shared_ptr<const Topology> topology = choose(fields.at("name"), topologies()).read(fields, nodes);
  fields.finish();
  if (topology->places() < nodes) {
    field.fail_because(fmt::format("a {} of this size has places for {} nodes, but the cluster has {}; use {}", topology->name(),
                                   topology->places(), nodes, topology->advice(nodes)));
  }
  return topology;
}

}  // namespace syncopate
