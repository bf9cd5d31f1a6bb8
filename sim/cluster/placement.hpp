#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cluster/cluster.hpp"

namespace syncopate {

/// Parameter servers and where they stand.
struct ServerPlaces {
  int count = 0;
  bool colocated = false;               ///< on nodes of the job's ranks; else each has a node of its own
  std::optional<std::size_t> region{};  ///< on regions: all of them are there; else they are near evenly spaced nodes
};

/// The place of each of `nodes` nodes (those of the cluster, then servers). Places of regions are numbered region after region as in
/// the file; `region_order`: the fastest one, for placement by region; that of the file where it is empty.
std::vector<int> places_of_nodes(const Cluster& cluster, int nodes, const std::vector<std::size_t>& region_order);

/// The region of every node, where nodes are placed in that order; empty without regions.
std::vector<std::size_t> regions_of_nodes(const Cluster& cluster, const std::vector<std::size_t>& region_order);

/// The region of every place.
std::vector<std::size_t> regions_of_places(const Regions& regions);

}  // namespace syncopate
