#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <simgrid/s4u.hpp>
#include <vector>

#include "base/document.hpp"
#include "engine/network/fair_flows.hpp"
#include "simgrid/support.hpp"

using namespace syncopate;
namespace s4u = simgrid::s4u;

namespace {

struct Draw {
  double start;
  int from;
  int to;
  double bytes;
};

/// When flows end, by our rules: each begins when as many bytes have come the other way.
std::vector<double> ends_here(Network& network, const std::vector<Draw>& draws) {
  Clock clock(nullptr);
  FairFlows flows(network, clock);
  std::vector<double> ends(draws.size(), -1.0);
  for (std::size_t i = 0; i < draws.size(); ++i) {
    clock.at(Seconds(draws[i].start), [&, i] {
      const Draw& draw = draws[i];
      flows.start({&network, draw.to, draw.from, Bytes(draw.bytes)}, Moment(Seconds(draw.start)), [&, i, draw](const Moment& now) {
        flows.start({&network, draw.from, draw.to, Bytes(draw.bytes)}, now, [&ends, i](const Moment& end) { ends[i] = end.time.value; });
      });
    });
  }
  const bool never = false;
  CHECK_THROWS_AS(clock.run_until(never), Deadlock);  // nothing is left to happen
  return ends;
}

/// When they end in SimGrid, over the same links.
std::vector<double> ends_in_simgrid(Network& network, int ranks, const std::vector<Draw>& draws) {
  const auto engine = testing::make_simgrid();
  s4u::NetZone* zone = s4u::create_full_zone("all");
  std::vector<s4u::Host*> hosts;
  hosts.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) hosts.push_back(zone->create_host(fmt::format("rank-{}", rank), 1.0));
  std::map<std::size_t, const s4u::Link*> links;
  std::set<std::pair<int, int>> known;
  const auto add_route = [&](int from, int to) {
    if (!known.emplace(from, to).second) return;
    const Path& path = network.path(from, to);
    std::vector<s4u::LinkInRoute> route;
    for (const std::size_t link : path.links) {
      const s4u::Link*& its = links[link];
      if (its == nullptr) its = zone->create_link(fmt::format("link-{}", link), network.bandwidth(link).value)->seal();
      route.emplace_back(its);
    }
    if (path.limit < Rate(std::numeric_limits<double>::infinity())) {  // a fat pipe limits each flow on it, and not all together
      s4u::Link* limit = zone->create_link(fmt::format("limit-{}-{}", from, to), path.limit.value);
      route.emplace_back(limit->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE)->seal());
    }
    zone->add_route(hosts[static_cast<std::size_t>(from)]->get_netpoint(), hosts[static_cast<std::size_t>(to)]->get_netpoint(), nullptr,
                    nullptr, route, false);
  };
  for (const Draw& draw : draws) {
    add_route(draw.from, draw.to);
    add_route(draw.to, draw.from);
  }
  zone->seal();
  std::vector<double> ends(draws.size(), -1.0);
  for (std::size_t i = 0; i < draws.size(); ++i) {
    s4u::Host* const from = hosts[static_cast<std::size_t>(draws[i].from)];
    s4u::Host* const to = hosts[static_cast<std::size_t>(draws[i].to)];
    s4u::Actor::create("flow", from, [&, i, from, to] {
      s4u::this_actor::sleep_until(draws[i].start);
      for (const auto& [sender, receiver] : {std::pair(to, from), std::pair(from, to)}) {
        s4u::Comm::sendto_init(sender, receiver)->set_payload_size(static_cast<std::uint64_t>(draws[i].bytes))->wait();
      }
      ends[i] = s4u::Engine::get_clock();
    });
  }
  engine->run();
  return ends;
}

/// The first flow of random ones over a cluster that ends at another time in SimGrid, or "".
std::string compare(const std::string& cluster_json, unsigned seed) {
  const Document document(Json::parse(cluster_json), "cluster");
  const Cluster cluster = read_cluster(document);
  std::vector<std::size_t> regions(cluster.regions ? cluster.regions->list.size() : 0);
  std::iota(regions.begin(), regions.end(), 0U);
  Network network(cluster, cluster.gpus_per_node, {}, regions);
  std::mt19937 random(seed);
  const auto draw = [&](int from, int to) { return std::uniform_int_distribution<>(from, to)(random); };
  std::vector<Draw> draws;
  for (int flow = 0; flow < 60; ++flow) {
    const int from = draw(0, cluster.workers() - 1);
    const int to = (from + draw(1, cluster.workers() - 1)) % cluster.workers();
    draws.push_back({draw(0, 8) * 0.5, from, to, 1e6 * draw(1, 20)});
  }
  const std::vector<double> here = ends_here(network, draws);
  return testing::apart([&]() -> std::string {
    const std::vector<double> there = ends_in_simgrid(network, cluster.workers(), draws);
    for (std::size_t i = 0; i < draws.size(); ++i) {
      if (std::abs(here[i] - there[i]) <= 1e-9 * there[i] && there[i] > draws[i].start) continue;
      return fmt::format("seed {}: flow {} from {} to {}: {} s, in SimGrid {} s", seed, i, draws[i].from, draws[i].to, here[i], there[i]);
    }
    return "";
  });
}

constexpr std::array clusters = {
    R"("nodes": 8, "link": {"bandwidth": "10Mbps", "latency": "1ms"})",
    R"("nodes": 16, "link": {"bandwidth": "10Mbps", "latency": "1ms"}, "topology": {"name": "fat-tree", "k": 4, "oversubscription": 2})",
    R"("nodes": 12, "link": {"bandwidth": "10Mbps", "latency": "1ms"}, "topology": {"name": "torus", "dimensions": [4, 3]})",
    R"("nodes": 24, "link": {"bandwidth": "10Mbps", "latency": "1ms"},
       "topology": {"name": "dragonfly", "groups": 3, "chassis": 2, "routers": 4, "nodes": 1})",
    R"("nodes": 4, "gpus_per_node": 4, "link": {"bandwidth": "10Mbps", "latency": "1ms"},
       "intra_node": {"bandwidth": "30Mbps", "latency": "1ms"})",
    R"("nodes": 9, "regions": [{"name": "a", "nodes": 4}, {"name": "b", "nodes": 3}, {"name": "c", "nodes": 2}],
       "link": {"bandwidth": "10Mbps", "latency": "1ms"},
       "wan": [{"between": ["a", "b"], "rtt": "100ms", "bandwidth": "16Mbps", "tcp_window": "50kB"},
               {"between": ["a", "c"], "rtt": "100ms", "bandwidth": "8Mbps"}, {"between": ["b", "c"], "rtt": "10ms", "bandwidth": "24Mbps"}])",
};

}  // namespace

TEST_SUITE("Do flows end when SimGrid's do?") {
  TEST_CASE("random flows over every kind of network") {
    for (const char* const cluster : clusters) {
      for (unsigned seed = 1; seed <= 10; ++seed)
        CHECK(compare(fmt::format(R"({{"format": "cluster/1", "name": "c", {}}})", cluster), seed) == "");
    }
  }
}
