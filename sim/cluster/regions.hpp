#pragma once

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
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

/// A network link between two nodes; `latency` is end to end.
struct Link {
  Rate bandwidth;
  Seconds latency;
  Bytes window{};  ///< > 0: what a flow may have under way, as TCP, so that it is never faster than window / rtt
  std::vector<Change<Rate>> bandwidth_changes{};
  std::vector<Change<Seconds>> latency_changes{};
  Jitter jitter{};  ///< of each message's latency

  bool changes_with_time() const { return !bandwidth_changes.empty() || !latency_changes.empty(); }
  /// The window over a way of that latency: no flow is faster.
  Rate limit(Seconds its_latency) const {
    const bool limits = window > Bytes(0) && its_latency > Seconds(0);
    return Rate(limits ? window.value / (2.0 * its_latency.value) : std::numeric_limits<double>::infinity());
  }
  /// What one flow alone gets of it, at first.
  Rate flow_rate() const { return std::min(bandwidth, limit(latency)); }
  Hop hop() const { return {latency, inverse(flow_rate())}; }
  /// What a flow has under way: bandwidth x latency.
  Bytes under_way() const { return Bytes(flow_rate().value * latency.value); }
};

/// Nodes in one place; all nodes of a region have the cluster's link to each other.
struct Region {
  std::string name;
  int nodes = 1;
};

/// Regions and the links between each two of them.
struct Regions {
  std::vector<Region> list;
  std::vector<std::vector<Link>> wan;  ///< from region to region; latency is half of the round-trip time

  int nodes() const;
  bool is_symmetric() const;      ///< links carry as much in either direction, at first
  bool change_with_time() const;  ///< some link's bandwidth or latency does
};

/// Reads `regions` and `wan` of a cluster. Throws InputError, also when two regions have no link.
Regions read_regions(const Field& regions, const Field& wan);

/// The share of a link's bandwidth that bytes get.
double read_efficiency(const Field& field);

/// The region that the field names. Throws InputError when there is none.
std::size_t find_region(const Field& field, const std::vector<Region>& regions);

/// The regions of all nodes, one after the other, where they come in that order.
std::vector<std::size_t> regions_of_nodes(const Regions& regions, const std::vector<std::size_t>& order);

/// The links of a ring through nodes of those regions, `inside` between two of the same one.
std::vector<Hop> ring_hops(const Regions& regions, const std::vector<std::size_t>& regions_of_nodes, const Link& inside);

/// Time of a ring all-reduce over those links (see ring_time).
Seconds ring_all_reduce(const std::vector<Hop>& hops, Bytes bytes, SecondsPerByte gamma);

/// The order of the regions in which a ring all-reduce of `bytes` is fastest; the first region stays first. All orders are tried
/// for up to 9 regions, unless that takes over 10^9 messages; else 2-opt improves a metric TSP tour of their links. The shortest
/// cycle is not always the fastest: a message waits for the slowest link again and again. Where one order alone takes over 10^9 messages,
/// orders are compared by the longer of two ways that bytes have to go, which mostly is the longest.
std::vector<std::size_t> fastest_order(const Regions& regions, const Link& inside, Bytes bytes, SecondsPerByte gamma);

}  // namespace syncopate
