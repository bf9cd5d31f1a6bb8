#pragma once

#include <vector>

#include "cluster/regions.hpp"

namespace syncopate {

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
