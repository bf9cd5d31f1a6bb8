#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/fields.hpp"
#include "cluster/link.hpp"
#include "collective/closed_form.hpp"

namespace syncopate {

/// A link that all traffic leaving or entering a place crosses, without latency. Infinite by default.
struct Uplink {
  Rate up = infinite_bandwidth;
  Rate down = infinite_bandwidth;

  bool is_there() const { return std::isfinite(up.value); }
};

/// Nodes in one place. Two nodes of a region are joined by the cluster's link.
struct Region {
  std::string name;
  int nodes = 1;
  Uplink uplink{};       ///< shared by all its nodes, to other regions
  Uplink node_uplink{};  ///< of each node, to other regions

  bool has_uplinks() const { return uplink.is_there() || node_uplink.is_there(); }
};

/// Regions and the link between every two of them.
struct Regions {
  std::vector<Region> list;
  /// wan[from][to]; latency is half of the round-trip time. With uplinks only, bandwidth is infinite.
  std::vector<std::vector<Link>> wan;

  int nodes() const;
  /// The pair's link has a finite bandwidth of its own.
  bool are_linked(std::size_t from, std::size_t to) const { return std::isfinite(wan[from][to].bandwidth.value); }
  /// The smallest bandwidth of the route out of `from`, and into `to`, at time 0. With storage: up to storage, and from storage.
  std::pair<Rate, Rate> bandwidths(std::size_t from, std::size_t to) const;
  /// Rate of a flow that is alone on the whole route.
  Rate flow_rate(std::size_t from, std::size_t to) const;
  Hop hop(std::size_t from, std::size_t to) const { return {wan[from][to].latency, inverse(flow_rate(from, to))}; }
  bool is_symmetric() const;      ///< flows are equally fast in both directions, at time 0
  bool change_with_time() const;  ///< the bandwidth or latency of some link does
};

/// Reads `regions` and `wan` of a cluster. Regions that do not say how many nodes they have share `nodes`. Throws InputError, also if two
/// regions have no link.
Regions read_regions(const Field& regions_field, const Field& wan_field, int nodes);

/// Average rate of bytes that move at `first`, and only then, all of them, at `second`.
constexpr Rate in_sequence(Rate first, Rate second) { return Rate(1.0 / (inverse(first) + inverse(second)).value); }

/// The fraction of a link's bandwidth that payload gets.
double read_efficiency(const Field& field);

/// Connections of each flow over a link.
int read_connections(const Field& field);

/// The index of the region that the field names. Throws InputError if there is none.
std::size_t find_region(const Field& field, const std::vector<Region>& regions);

/// The region of each node, region by region in `order`.
std::vector<std::size_t> regions_of_nodes(const Regions& regions, const std::vector<std::size_t>& order);

}  // namespace syncopate
