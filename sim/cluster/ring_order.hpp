#pragma once

#include <vector>

#include "cluster/link.hpp"
#include "cluster/regions.hpp"

namespace syncopate {

/// The links of a ring through nodes of these regions. `inside`: between two nodes of one region.
std::vector<Hop> ring_hops(const Regions& regions, const std::vector<std::size_t>& of_nodes, const Link& inside);

/// Time of a ring all-reduce over these links (see ring_time).
Seconds ring_all_reduce(const std::vector<Hop>& hops, Bytes bytes, SecondsPerByte gamma);

/// The order of the regions in which a ring all-reduce of `bytes` is fastest. The first region stays first.
///
/// Up to 9 regions: all orders are tried, unless that takes more than 10^9 messages. Else: 2-opt improves a metric TSP tour of the regions'
/// links. The shortest cycle is not always fastest, as messages wait for the slowest link repeatedly. If a round of 2-opt takes more than
/// 10^9 messages, orders are compared by the longer of two paths through the ring, which usually is the critical path.
std::vector<std::size_t> fastest_order(const Regions& regions, const Link& inside, Bytes bytes, SecondsPerByte gamma);

}  // namespace syncopate
