#pragma once

#include <map>
#include <optional>
#include <string>

#include "cluster/cluster.hpp"
#include "cluster/network.hpp"

namespace syncopate {

/// draw_network looks up the route of every pair of nodes, so their number is limited.
constexpr int most_nodes_in_picture = 512;

/// Utilisation of a cable's busier direction, by the cable's name.
using CableUse = std::map<std::string, double>;

/// Graphviz text of a cluster's network: nodes, servers, switches and cables. They follow from the routes between all pairs of nodes. A
/// cable's label is its level; its tooltip is its name in reports of links. With `use`, a cable is drawn wider the more it is used.
/// Requires at most most_nodes_in_picture nodes.
std::string draw_network(const Cluster& cluster, Network& network, const std::optional<CableUse>& use = {});
/// The same without parameter servers.
std::string draw_network(const Cluster& cluster);

}  // namespace syncopate
