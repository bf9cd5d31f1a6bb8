#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/fields.hpp"

namespace simgrid::s4u {
class Host;
}

namespace syncopate {

struct Cluster;

/// One row of the table of topologies: how nodes and links become a SimGrid platform.
struct Topology {
  std::string_view name;
  std::string_view meaning;
  std::string_view parameters;
  /// Builds the platform in the current SimGrid engine; returns the hosts of the first `nodes` nodes, in order.
  std::vector<simgrid::s4u::Host*> (*build)(const Cluster& cluster, int nodes);
};

/// The table: to add a topology, add a row. The first one is the default.
std::span<const Topology> topologies();

/// Reads a topology's name (or an object with its `name`). Throws InputError with the nearest name.
const Topology& read_topology(const Field& field);

}  // namespace syncopate
