#include "cluster/ring_order.hpp"

#include <algorithm>
#include <boost/graph/adjacency_matrix.hpp>
#include <boost/graph/metric_tsp_approx.hpp>
#include <limits>
#include <numeric>
#include <optional>

#include "collective/ring_time.hpp"

namespace syncopate {

namespace {

using Order = std::vector<std::size_t>;

/// A tour at most twice as long as the shortest. The length of a link is the time of one message over it.
Order short_tour(const Regions& regions, Bytes chunk) {
  using RegionGraph = boost::adjacency_matrix<boost::undirectedS, boost::no_property, boost::property<boost::edge_weight_t, double>>;
  RegionGraph graph(regions.list.size());
  for (std::size_t a = 0; a < regions.list.size(); ++a) {
    for (std::size_t b = a + 1; b < regions.list.size(); ++b) {
      const Hop forward = regions.hop(a, b);
      const Hop backward = regions.hop(b, a);
      boost::add_edge(a, b, (forward.latency + 0.5 * (forward.beta + backward.beta) * chunk).value, graph);
    }
  }
  Order tour;
  boost::metric_tsp_approx_tour(graph, std::back_inserter(tour));
  tour.pop_back();  // the repeated first region
  std::rotate(tour.begin(), std::find(tour.begin(), tour.end(), 0U), tour.end());
  return tour;
}

/// A lower bound of a ring all-reduce's time for an order of the regions, in O(regions). The time is the longest chain of dependent
/// messages: in a chain, a message either follows the same chunk over the previous link or the previous chunk over the same link. The bound
/// is the longer of two such chains, one of which is nearly always the longest:
/// - a chunk that travels twice round the ring (all_round),
/// - a chunk that travels to the slowest link, then all chunks one after the other over this link (behind_slowest).
class RingBound {
 public:
  RingBound(const Regions& regions, const Link& inside, Bytes bytes, SecondsPerByte gamma)
      : regions_(regions), chunk_(bytes / regions.nodes()), reduction_(gamma * chunk_), inside_(inside.hop()) {
    for (std::size_t from = 0; from < regions.list.size(); ++from) {
      std::vector<Hop>& hops = wan_.emplace_back();
      for (std::size_t to = 0; to < regions.list.size(); ++to) hops.push_back(from == to ? Hop() : regions.hop(from, to));
    }
  }

  Seconds operator()(const Order& order) const {
    const std::vector<Links> ring = links_of(order);
    return std::max(all_round(ring), behind_slowest(ring));
  }
  /// Whether the bound is at least `limit`.
  bool reaches(Seconds limit, const Order& order) const {
    const std::vector<Links> ring = links_of(order);
    return all_round(ring) >= limit || behind_slowest(ring) >= limit;
  }

 private:
  struct Links {
    int count = 0;
    Seconds transfer;
    Seconds latency;
    Seconds message() const { return transfer + latency; }
  };

  /// The links in the ring's order: for each region, its equal inner links, then its link to the next region.
  std::vector<Links> links_of(const Order& order) const {
    std::vector<Links> ring;
    ring.reserve(2 * order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      ring.push_back({regions_.list[order[i]].nodes - 1, inside_.beta * chunk_, inside_.latency});
      const Hop& on = wan_[order[i]][order[(i + 1) % order.size()]];
      ring.push_back({1, on.beta * chunk_, on.latency});
    }
    return ring;
  }

  /// 2(N-1) messages: twice over all links but two adjacent ones. The first N-1 messages are also reduced.
  Seconds all_round(const std::vector<Links>& ring) const {
    Seconds once;
    Seconds left_out(std::numeric_limits<double>::infinity());
    Seconds before = ring.back().message();  // the link into the first region
    for (const Links& links : ring) {
      if (links.count == 0) continue;
      once += links.count * links.message();
      left_out = std::min(left_out, before + links.message());
      if (links.count > 1) left_out = std::min(left_out, 2.0 * links.message());
      before = links.message();
    }
    return 2.0 * once - left_out + (regions_.nodes() - 1) * reduction_;
  }

  /// All 2(N-1) messages over the slowest link, plus the ways to it and from it where they take longer than waiting at that link.
  Seconds behind_slowest(const std::vector<Links>& ring) const {
    const auto is_faster = [](const Links& a, const Links& b) {
      return std::pair(a.count > 0, a.transfer) < std::pair(b.count > 0, b.transfer);
    };
    const auto slowest = static_cast<std::size_t>(std::max_element(ring.begin(), ring.end(), is_faster) - ring.begin());
    const Seconds waits = ring[slowest].transfer;
    const auto longest_way = [&](std::size_t step, Seconds reduction) {
      Seconds longer;
      Seconds most;
      std::size_t next = slowest;
      for (std::size_t i = 1; i + 2 < ring.size(); ++i) {
        next += step;
        if (next >= ring.size()) next -= ring.size();
        const Links& links = ring[next];
        longer += links.count * (links.message() + reduction - waits);
        most = std::max(most, longer);
      }
      return most;
    };
    const int messages = 2 * (regions_.nodes() - 1);
    return messages * waits + ring[slowest].latency + longest_way(ring.size() - 1, reduction_) + longest_way(1, Seconds(0));
  }

  const Regions& regions_;
  Bytes chunk_;
  Seconds reduction_;
  Hop inside_;
  std::vector<std::vector<Hop>> wan_;
};

}  // namespace

std::vector<Hop> ring_hops(const Regions& regions, const std::vector<std::size_t>& of_nodes, const Link& inside) {
  std::vector<Hop> hops;
  hops.reserve(of_nodes.size());
  for (std::size_t node = 0; node < of_nodes.size(); ++node) {
    const std::size_t from = of_nodes[node];
    const std::size_t to = of_nodes[(node + 1) % of_nodes.size()];
    hops.push_back(from == to ? inside.hop() : regions.hop(from, to));
  }
  return hops;
}

Seconds ring_all_reduce(const std::vector<Hop>& hops, Bytes bytes, SecondsPerByte gamma) {
  const int ranks = static_cast<int>(hops.size());
  return ring_time(hops, 2 * (ranks - 1), bytes / ranks, ranks - 1, gamma);
}

Order fastest_order(const Regions& regions, const Link& inside, Bytes bytes, SecondsPerByte gamma) {
  constexpr std::size_t most_tried = 9;
  constexpr double most_messages = 1e9;
  constexpr double of_rounding = 1e-9;
  const double nodes = regions.nodes();
  const RingBound bound(regions, inside, bytes, gamma);
  const auto pairs = 0.5 * static_cast<double>(regions.list.size() * (regions.list.size() - 1));  // that 2-opt compares in a round
  const bool is_small = pairs * 2.0 * nodes * nodes <= most_messages;
  const auto time = [&](const Order& order) {
    return is_small ? ring_all_reduce(ring_hops(regions, regions_of_nodes(regions, order), inside), bytes, gamma) : bound(order);
  };
  // The bound rules out most orders without computing their time.
  const auto time_below = [&](const Order& order, Seconds best) -> std::optional<Seconds> {
    if (bound.reaches(best * (1.0 + of_rounding), order)) return std::nullopt;
    const Seconds order_time = time(order);
    return order_time < best ? std::optional(order_time) : std::nullopt;
  };
  double orders = 1.0;
  for (std::size_t i = 2; i < regions.list.size(); ++i) orders *= static_cast<double>(i);

  Order best(regions.list.size());
  std::iota(best.begin(), best.end(), 0U);
  if (best.size() <= most_tried && orders * 2.0 * nodes * nodes <= most_messages) {
    Seconds best_time = time(best);
    const bool is_symmetric = regions.is_symmetric();
    for (Order order = best; std::next_permutation(order.begin() + 1, order.end());) {
      // With symmetric links and no reductions, an order and its reverse take equally long. (Only the first N-1 messages are reduced.)
      if (is_symmetric && gamma == SecondsPerByte(0) && order[1] > order.back()) continue;
      if (const auto candidate = time_below(order, best_time)) best = order, best_time = *candidate;
    }
    return best;
  }

  const auto reversed = [](Order order) {
    std::reverse(order.begin() + 1, order.end());
    return order;
  };
  best = short_tour(regions, bytes / nodes);
  if (time(reversed(best)) < time(best)) best = reversed(best);
  Seconds best_time = time(best);
  for (bool improved = true; improved;) {
    improved = false;
    for (std::size_t from = 1; from + 1 < best.size(); ++from) {
      for (std::size_t to = from + 1; to < best.size(); ++to) {
        Order order = best;
        std::reverse(order.begin() + static_cast<std::ptrdiff_t>(from), order.begin() + static_cast<std::ptrdiff_t>(to) + 1);
        if (const auto candidate = time_below(order, best_time)) best = order, best_time = *candidate, improved = true;
      }
    }
  }
  const Order backwards = reversed(best);
  return time(backwards) < best_time ? backwards : best;
}

}  // namespace syncopate
