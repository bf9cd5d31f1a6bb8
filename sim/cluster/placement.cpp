#include "cluster/placement.hpp"

#include <limits>
#include <numeric>

#include "base/indexed.hpp"
#include "base/random.hpp"

namespace syncopate {

namespace {

/// The places 0 to places - 1 in an order drawn with the seed (Fisher-Yates shuffle).
std::vector<int> shuffled(int places, std::uint64_t seed) {
  std::vector<int> order(at(places));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i-- > 1;) {
    const double uniform = uniform_pair(seed, static_cast<std::uint32_t>(i), 0, 0)[0];
    std::swap(order[i], order[static_cast<std::size_t>(uniform * static_cast<double>(i + 1))]);
  }
  return order;
}

/// On regions, places are numbered region after region as in the file.
std::vector<int> places_by_region(const Regions& regions, const std::vector<std::size_t>& order) {
  std::vector<int> first(regions.list.size());
  for (std::size_t i = 1; i < first.size(); ++i) first[i] = first[i - 1] + regions.list[i - 1].nodes;
  std::vector<int> places;
  for (const std::size_t region : order) {
    for (int node = 0; node < regions.list[region].nodes; ++node) places.push_back(first[region] + node);
  }
  return places;
}

}  // namespace

std::vector<int> places_of_nodes(const Cluster& cluster, int nodes, const std::vector<std::size_t>& region_order) {
  switch (cluster.placement.kind) {
    case Placement::Kind::by_region:
      if (!region_order.empty()) return places_by_region(*cluster.regions, region_order);
      break;
    case Placement::Kind::random: {
      if (cluster.platform) {
        std::vector<int> places = shuffled(cluster.nodes, cluster.placement.seed);
        for (int place = cluster.nodes; place < nodes; ++place) places.push_back(place);
        return places;
      }
      const bool any_size = cluster.regions || cluster.topology->places() == std::numeric_limits<int>::max();
      std::vector<int> places = shuffled(any_size ? nodes : cluster.topology->places(), cluster.placement.seed);
      places.resize(at(nodes));
      return places;
    }
    case Placement::Kind::nearest:
    case Placement::Kind::linear: break;
  }
  std::vector<int> places(at(nodes));
  std::iota(places.begin(), places.end(), 0);
  return places;
}

std::vector<std::size_t> regions_of_nodes(const Cluster& cluster, const std::vector<std::size_t>& region_order) {
  std::vector<std::size_t> regions;
  if (!cluster.regions) return regions;
  const std::vector<std::size_t> of_places = regions_of_places(*cluster.regions);
  for (const int place : places_of_nodes(cluster, cluster.nodes, region_order)) regions.push_back(of_places[at(place)]);
  return regions;
}

std::vector<std::size_t> regions_of_places(const Regions& regions) {
  std::vector<std::size_t> order(regions.list.size());
  std::iota(order.begin(), order.end(), 0U);
  return regions_of_nodes(regions, order);
}

}  // namespace syncopate
