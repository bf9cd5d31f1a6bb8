#pragma once

#include <cstddef>
#include <vector>

#include "cluster/cluster.hpp"

namespace syncopate {

/// The place of each of `nodes` nodes (those of the cluster, then servers). Places of regions are numbered region after region as in
/// the file; `region_order`: the fastest one, for placement by region.
std::vector<int> places_of_nodes(const Cluster& cluster, int nodes, const std::vector<std::size_t>& region_order);

/// The region of every node, where nodes are placed in that order; empty without regions.
std::vector<std::size_t> regions_of_nodes(const Cluster& cluster, const std::vector<std::size_t>& region_order);

/// The region of every place.
std::vector<std::size_t> regions_of_places(const Regions& regions);

}  // namespace syncopate
