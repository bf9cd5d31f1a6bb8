#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.hpp"

namespace syncopate {

/// A link that is no node's own, by the numbers of its ends, and which way it is crossed: up from the lower end to the upper one.
struct InnerLink {
  int lower = 0;
  int upper = 0;
  bool up = true;
};

/// How places for nodes and the links between them form a network. All links of a topology are alike.
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

  /// The switch without which a place has no network, by any number of its own; empty where there are none.
  virtual std::optional<int> switch_of(int /*place*/) const { return std::nullopt; }

  /// Links that a node's messages to its nearest neighbour cross; each has an equal share of the cluster's latency.
  virtual int nearest_links() const { return 2; }

  /// Every place has one link of its own to a switch, which a message crosses first, and another one last.
  virtual bool has_node_links() const { return true; }

  /// What is at the ends of the other links, for people.
  virtual std::string_view switch_name() const { return "switch"; }

  /// Where in the network such a link is, in a word or two for people: "edge-aggregation".
  virtual std::string level(const InnerLink& link) const = 0;

  /// The links that are no place's own which a message crosses from one place to another one, in that order.
  virtual std::vector<InnerLink> route(int from, int to) const = 0;
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
std::shared_ptr<const Topology> read_tree(Object& fields, int nodes);
std::shared_ptr<const Topology> read_torus(Object& fields, int nodes);
std::shared_ptr<const Topology> read_dragonfly(Object& fields, int nodes);

}  // namespace syncopate
