#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fields.hpp"
#include "base/jitter.hpp"
#include "collective/ring_time.hpp"

namespace syncopate {

/// From a time on, something has another value.
template <class Value>
struct Change {
  Seconds at;
  Value value;
};

/// Changes are in the order of time.
template <class Value>
Value value_at(Seconds time, Value first, const std::vector<Change<Value>>& changes) {
  const auto later =
      std::upper_bound(changes.begin(), changes.end(), time, [](Seconds now, const auto& change) { return now < change.at; });
  return later == changes.begin() ? first : std::prev(later)->value;
}

constexpr Rate infinite_bandwidth(std::numeric_limits<double>::infinity());

/// A network link between two nodes; `latency` is end to end.
struct Link {
  Rate bandwidth;
  Seconds latency;
  Bytes window{};       ///< > 0: what each of a flow's connections may have under way, as TCP, so that none is faster than window / rtt
  int connections = 1;  ///< of each flow, which counts as so many where flows share a link
  /// What moves is uploaded to object storage at `bandwidth`, and when all of it is there, downloaded at this.
  std::optional<Rate> download{};
  std::vector<Change<Rate>> bandwidth_changes{};
  std::vector<Change<Seconds>> latency_changes{};
  Jitter jitter{};  ///< of each message's latency

  bool changes_with_time() const { return !bandwidth_changes.empty() || !latency_changes.empty(); }
  /// The windows over a way of that latency: no flow is faster.
  Rate limit(Seconds its_latency) const {
    const bool limits = window > Bytes(0) && its_latency > Seconds(0);
    return limits ? Rate(connections * window.value / (2.0 * its_latency.value)) : infinite_bandwidth;
  }
  /// What one flow alone gets of it, at first, where it is not by way of storage.
  Rate flow_rate() const { return std::min(bandwidth, limit(latency)); }
  Hop hop() const { return {latency, inverse(flow_rate())}; }
};

/// What all that leaves somewhere crosses, or all that enters: without latency. By default there is none.
struct Uplink {
  Rate up = infinite_bandwidth;
  Rate down = infinite_bandwidth;

  bool is_there() const { return std::isfinite(up.value); }
};

/// Nodes in one place; all nodes of a region have the cluster's link to each other.
struct Region {
  std::string name;
  int nodes = 1;
  Uplink uplink{};       ///< of all its nodes together, to other regions
  Uplink node_uplink{};  ///< of each of them

  bool has_uplinks() const { return uplink.is_there() || node_uplink.is_there(); }
};

/// Regions and the links between each two of them.
struct Regions {
  std::vector<Region> list;
  /// From region to region; latency is half of the round-trip time. Where there are uplinks only, its bandwidth is infinite.
  std::vector<std::vector<Link>> wan;

  int nodes() const;
  /// Their link has a bandwidth of its own.
  bool are_linked(std::size_t from, std::size_t to) const { return std::isfinite(wan[from][to].bandwidth.value); }
  /// Of the narrowest link on the way out of a region to another one, at first, and into that: to storage and from it, if the way has one.
  std::pair<Rate, Rate> bandwidths(std::size_t from, std::size_t to) const;
  /// What one flow alone gets of the whole way.
  Rate flow_rate(std::size_t from, std::size_t to) const;
  Hop hop(std::size_t from, std::size_t to) const { return {wan[from][to].latency, inverse(flow_rate(from, to))}; }
  bool is_symmetric() const;      ///< flows are as fast in either direction, at first
  bool change_with_time() const;  ///< some link's bandwidth or latency does
};

/// Reads `regions` and `wan` of a cluster. Throws InputError, also when two regions have no link.
Regions read_regions(const Field& regions, const Field& wan);

/// Of what moves at one rate, and then, from its begin to its end, at the other one.
constexpr Rate in_sequence(Rate first, Rate second) { return Rate(1.0 / (inverse(first) + inverse(second)).value); }

/// The share of a link's bandwidth that bytes get.
double read_efficiency(const Field& field);

/// How many each flow over a link has.
int read_connections(const Field& field);

/// The region that the field names. Throws InputError when there is none.
std::size_t find_region(const Field& field, const std::vector<Region>& regions);

/// The regions of all nodes, one after the other, where they come in that order.
std::vector<std::size_t> regions_of_nodes(const Regions& regions, const std::vector<std::size_t>& order);

}  // namespace syncopate
