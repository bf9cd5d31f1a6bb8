#pragma once

#include <map>
#include <optional>
#include <string>

#include "cluster/cluster.hpp"
#include "cluster/network.hpp"

namespace syncopate {

/// The most nodes of which a picture can be made: every pair's way is looked up.
constexpr int most_nodes_in_picture = 512;

/// Of cables, by their names: the utilisation of the busier direction.
using CableUse = std::map<std::string, double>;

/// A cluster's network as a graph for Graphviz: nodes, servers, switches and the cables between them, as they follow from the ways of
/// messages between all pairs of nodes. A cable's label is its level, its tooltip the name that reports of links give it; with `use`, it is
/// the wider the more it is used. Requires at most most_nodes_in_picture nodes.
std::string draw_network(const Cluster& cluster, Network& network, const std::optional<CableUse>& use = {});
/// The same, of the nodes alone.
std::string draw_network(const Cluster& cluster);

}  // namespace syncopate
