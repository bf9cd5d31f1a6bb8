#pragma once

#include <string>

#include "cluster/cluster.hpp"

namespace syncopate {

/// The most nodes of which a picture can be made: every pair's way is looked up.
constexpr int most_nodes_in_picture = 512;

/// The cluster's network as a graph for Graphviz: nodes, switches and the cables between them, as they follow from the ways of
/// messages between all pairs of nodes. A cable's label is its level, its tooltip the name that reports of links give it. Requires at most
/// most_nodes_in_picture nodes.
std::string draw_network(const Cluster& cluster);

}  // namespace syncopate
