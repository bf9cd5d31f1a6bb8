#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.hpp"
#include "base/units.hpp"
#include "cluster/link.hpp"

namespace syncopate {

struct LinkChanges;

/// A link between switches, by the numbers of its ends. `up`: crossed from `lower` to `upper`.
struct InnerLink {
  int lower = 0;
  int upper = 0;
  bool up = true;
};

/// A network's places for nodes, and the links between the places. All links of a topology are alike, unless it has figures of its own.
class Topology {
 public:
  Topology() = default;
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;
  virtual ~Topology() = default;

  virtual std::string_view name() const = 0;

  /// The number of places for nodes and parameter servers.
  virtual int places() const = 0;

  /// Parameters with enough places for `nodes` nodes, as advice in a message: `"k": 8`.
  virtual std::string advice(int nodes) const = 0;

  /// The switch that a place depends on, by a number that the topology chooses. Empty if there are no switches.
  virtual std::optional<int> switch_of(int /*place*/) const { return std::nullopt; }

  /// Number of links between nearest neighbours. Each link has an equal part of the cluster's latency.
  virtual int nearest_links() const { return 2; }

  /// Every place has its own link to a switch. A message crosses the sender's first and the receiver's last.
  virtual bool has_node_links() const { return true; }

  /// What the inner links connect, for people.
  virtual std::string_view switch_name() const { return "switch"; }

  /// The level of an inner link, for people: "edge-aggregation".
  virtual std::string level(const InnerLink& link) const = 0;

  /// The inner links from one place to another one, in the order of crossing.
  virtual std::vector<InnerLink> route(int from, int to) const = 0;

  // Where links differ:

  struct RouteFigures {
    Seconds latency;
    Rate rate;   ///< of a message that is alone
    Rate limit;  ///< of any message, whatever others do; may be infinite
  };
  virtual std::optional<RouteFigures> figures(int /*from*/, int /*to*/) const { return std::nullopt; }
  /// The latency of the route from each time on at which it changes.
  virtual std::vector<Change<Seconds>> latency_changes(int /*from*/, int /*to*/, const LinkChanges& /*changes*/) const { return {}; }
  virtual std::optional<Rate> bandwidth(const InnerLink& /*link*/) const { return std::nullopt; }
  struct LinkName {
    std::string name;
    std::string cable;  ///< the same of both directions
    bool forward = true;
    bool shares_directions = false;  ///< the link has both directions
  };
  virtual std::optional<LinkName> link_name(const InnerLink& /*link*/) const { return std::nullopt; }
  /// That, or the level and the switches.
  LinkName named(const InnerLink& link) const;
  /// The same with all bandwidths and latencies multiplied; null where the cluster's link has them.
  virtual std::shared_ptr<const Topology> scaled(double /*bandwidth*/, double /*latency*/) const { return nullptr; }
  /// What stands at a place, where that has a name of its own.
  struct Place {
    std::string name;
    double speed = 0.0;  ///< in flops per second
  };
  virtual std::optional<Place> own(int /*place*/) const { return std::nullopt; }
};

/// One row of the table of topologies.
struct TopologyRow {
  std::string_view name;
  std::string_view meaning;
  std::string_view parameters;  ///< name and default, for people
  std::string_view example;     ///< the whole JSON object, if parameters are required; else empty
  std::shared_ptr<const Topology> (*read)(Object& fields, int nodes);
};

/// The table. To add a topology, write its file and add a row. The first row is the default and needs no parameters.
std::span<const TopologyRow> topologies();

/// Reads a topology's name, or an object with `name` and parameters, for a cluster of `nodes` nodes. Throws InputError, also if the
/// topology has fewer places than nodes.
std::shared_ptr<const Topology> read_topology(const Field& field, int nodes);

/// The topology of a cluster that does not name one.
std::shared_ptr<const Topology> default_topology();

// Readers used in the table:
std::shared_ptr<const Topology> read_star(Object& fields, int nodes);
std::shared_ptr<const Topology> read_fat_tree(Object& fields, int nodes);
std::shared_ptr<const Topology> read_tree(Object& fields, int nodes);
std::shared_ptr<const Topology> read_torus(Object& fields, int nodes);
std::shared_ptr<const Topology> read_dragonfly(Object& fields, int nodes);

}  // namespace syncopate
