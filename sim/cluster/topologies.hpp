#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.hpp"

namespace simgrid::s4u {
class Host;
}

namespace syncopate {

/// A link between two switches, by their numbers, and which way it is crossed.
struct SwitchLink {
  int lower = 0;
  int upper = 0;
  bool up = true;
};

/// How places for nodes and the links between them form a network: a SimGrid zone. All links of a topology are alike.
class Topology {
 public:
  Topology() = default;
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;
  virtual ~Topology() = default;

  virtual std::string_view name() const = 0;

  /// The places that it has for nodes and parameter servers.
  virtual int places() const = 0;

  /// Advice for so many nodes: parameters that have places for them, such as `"k": 8`.
  virtual std::string advice(int nodes) const = 0;

  /// Links that a node's messages to its nearest neighbour cross; each has an equal share of the cluster's latency.
  virtual int nearest_links() const { return 2; }

  /// Every place has one link of its own to a switch, the first and last one of every route.
  virtual bool has_node_links() const { return true; }

  /// Whether route() says what SimGrid's zone would: then nothing needs to be built where no flow is simulated.
  virtual bool knows_routes() const { return false; }

  /// The links between switches that a message crosses from one place to another one. Requires knows_routes().
  virtual std::vector<SwitchLink> route(int /*from*/, int /*to*/) const { return {}; }

  /// Makes the zone in SimGrid's current engine, with at least `needed` places; returns the hosts by place. Links have no latency
  /// (SimGrid would share them in proportion to it) and `bandwidth` in SimGrid's units in each direction.
  virtual std::vector<simgrid::s4u::Host*> build(int needed, double bandwidth) const = 0;

  /// A link's name for people, from SimGrid's without its direction.
  virtual std::string link_name(const std::string& simgrid_name) const = 0;
};

/// One row of the table of topologies.
struct TopologyRow {
  std::string_view name;
  std::string_view meaning;
  std::string_view parameters;  ///< for people: name, default
  std::string_view example;     ///< of the whole object, where parameters are required; else empty
  std::shared_ptr<const Topology> (*read)(Object& fields, int nodes);
};

/// The table: to add a topology, write its file and add a row. The first one is the default, and needs no parameters.
std::span<const TopologyRow> topologies();

/// Reads a topology's name, or an object with its `name` and parameters, for a cluster of so many nodes. Throws InputError, also when
/// it has fewer places than nodes.
std::shared_ptr<const Topology> read_topology(const Field& field, int nodes);

/// The topology of a cluster that names none.
std::shared_ptr<const Topology> default_topology();

// The readers of the rows.
std::shared_ptr<const Topology> read_star(Object& fields, int nodes);
std::shared_ptr<const Topology> read_fat_tree(Object& fields, int nodes);
std::shared_ptr<const Topology> read_torus(Object& fields, int nodes);
std::shared_ptr<const Topology> read_dragonfly(Object& fields, int nodes);

}  // namespace syncopate
