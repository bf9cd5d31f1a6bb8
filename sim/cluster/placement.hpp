#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cluster/cluster.hpp"

namespace syncopate {

/// The number and location of parameter servers.
struct ServerPlaces {
  int count = 0;
  bool colocated = false;               ///< on nodes of the job's ranks; else each server has its own node
  std::optional<std::size_t> region{};  ///< on regions: all servers are in this region; empty: near evenly spaced nodes
};

/// The place of each of `nodes` nodes: the cluster's nodes, then servers. Places of regions are numbered region by region in the file's
/// order. `region_order`: used for placement by region; empty means the file's order.
std::vector<int> places_of_nodes(const Cluster& cluster, int nodes, const std::vector<std::size_t>& region_order);

/// The region of each node, for nodes placed in `region_order`. Empty without regions.
std::vector<std::size_t> regions_of_nodes(const Cluster& cluster, const std::vector<std::size_t>& region_order);

/// The region of each place.
std::vector<std::size_t> regions_of_places(const Regions& regions);

}  // namespace syncopate
