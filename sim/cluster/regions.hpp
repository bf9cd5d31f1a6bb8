#pragma once

#include <string>
#include <vector>

#include "base/fields.hpp"
#include "collective/ring.hpp"

namespace syncopate {

/// A network link between two nodes; `latency` is end to end.
struct Link {
  Rate bandwidth;
  Seconds latency;

  Hop hop() const { return {latency, inverse(bandwidth)}; }
};

/// Nodes in one place; all nodes of a region have the cluster's link to each other.
struct Region {
  std::string name;
  int nodes = 1;
};

/// Regions and the links between each two of them.
struct Regions {
  std::vector<Region> list;
  std::vector<std::vector<Link>> wan;  ///< by indices of two regions; latency is half of the round-trip time

  int nodes() const;
};

/// Reads `regions` and `wan` of a cluster. Throws InputError, also when two regions have no link.
Regions read_regions(const Field& regions, const Field& wan);

/// The links of a ring through all nodes: region by region in that order, `inside` between the nodes of one.
std::vector<Hop> ring_hops(const Regions& regions, const std::vector<std::size_t>& order, const Link& inside);

/// Time of a ring all-reduce over those links (see ring_time).
Seconds ring_all_reduce(const std::vector<Hop>& hops, Bytes bytes, SecondsPerByte gamma);

/// The order of the regions in which a ring all-reduce of `bytes` is fastest; the first region stays first. All orders are tried
/// for up to 9 regions, unless that takes over 10^9 messages; else 2-opt improves a metric TSP tour of their links. The shortest
/// cycle is not always the fastest: a message waits for the slowest link again and again.
std::vector<std::size_t> fastest_order(const Regions& regions, const Link& inside, Bytes bytes, SecondsPerByte gamma);

}  // namespace syncopate
