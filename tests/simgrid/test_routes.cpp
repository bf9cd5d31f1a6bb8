#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <map>
#include <simgrid/s4u.hpp>

#include "base/document.hpp"
#include "cluster/topologies.hpp"
#include "simgrid/support.hpp"

using namespace syncopate;
namespace s4u = simgrid::s4u;

namespace {

using Make = std::function<void(const s4u::ClusterCallbacks& hosts)>;

/// What SimGrid calls for each leaf of its cluster zones.
s4u::ClusterCallbacks hosts_into(std::vector<s4u::Host*>& hosts) {
  using simgrid::kernel::routing::NetPoint;
  return s4u::ClusterCallbacks([&hosts](s4u::NetZone* zone, const std::vector<unsigned long>& /*coordinates*/, unsigned long id) {
    hosts.push_back(zone->create_host(fmt::format("place-{}", id), 1.0));
    hosts.back()->seal();
    return std::pair<NetPoint*, NetPoint*>(hosts.back()->get_netpoint(), nullptr);
  });
}

/// The first way between two places that is another one in SimGrid's zone than in the topology, or "". Links are known by which others'
/// ways they are in: each of ours is always the same one of SimGrid's, and the other way round. `skips`: pairs that are not compared.
std::string compare_routes(
    const char* json, const Make& make, const std::function<bool(int, int)>& skips = [](int, int) { return false; }) {
  return testing::apart([&]() -> std::string {
    const auto engine = testing::make_simgrid();
    std::vector<s4u::Host*> hosts;
    make(hosts_into(hosts));
    const int places = static_cast<int>(hosts.size());
    const Document document(Json::parse(json), "topology");
    const auto topology = read_topology(Field(document), places);
    if (topology->places() != places) return fmt::format("{} places instead of {}", topology->places(), places);
    const std::size_t own = topology->has_node_links() ? 1 : 0;
    std::map<std::string, std::string> ours_of;
    std::map<std::string, std::string> theirs_of;
    for (int from = 0; from < places; ++from) {
      for (int to = 0; to < places; ++to) {
        if (from == to || skips(from, to)) continue;
        std::vector<s4u::Link*> links;
        double latency = 0.0;
        hosts[static_cast<std::size_t>(from)]->route_to(hosts[static_cast<std::size_t>(to)], links, &latency);
        const std::vector<InnerLink> route = topology->route(from, to);
        if (route.size() + 2 * own != links.size()) return fmt::format("{} to {}: {} links, not {}", from, to, route.size(), links.size());
        for (std::size_t i = 0; i < route.size(); ++i) {
          const std::string ours = fmt::format("{}-{} {}", route[i].lower, route[i].upper, route[i].up ? "up" : "down");
          const std::string theirs = links[i + own]->get_name();
          const std::string& known = theirs_of.try_emplace(ours, theirs).first->second;
          const std::string& inverse = ours_of.try_emplace(theirs, ours).first->second;
          if (known != theirs || inverse != ours) return fmt::format("{} to {}: {} is {} here, else {}", from, to, ours, theirs, known);
        }
      }
    }
    return "";
  });
}

constexpr auto split = s4u::Link::SharingPolicy::SPLITDUPLEX;

std::string compare_fat_tree(int k, int oversubscription) {
  const std::string json = fmt::format(R"({{"name": "fat-tree", "k": {}, "oversubscription": {}}})", k, oversubscription);
  return compare_routes(json.c_str(), [&](const s4u::ClusterCallbacks& hosts) {
    const auto half = static_cast<unsigned>(k / 2);
    const s4u::FatTreeParams levels(3, {half, half, 2 * half}, {1, half / static_cast<unsigned>(oversubscription), half}, {1, 1, 1});
    s4u::create_fatTree_zone("zone", nullptr, levels, hosts, 1e9, 0.0, split)->seal();
  });
}

std::string compare_tree(unsigned arity, unsigned levels) {
  const std::string json = fmt::format(R"({{"name": "tree", "arity": {}, "levels": {}}})", arity, levels);
  return compare_routes(json.c_str(), [&](const s4u::ClusterCallbacks& hosts) {
    const std::vector<unsigned> below(levels, arity);
    const std::vector<unsigned> one(levels, 1);
    s4u::create_fatTree_zone("zone", nullptr, {levels, below, one, one}, hosts, 1e9, 0.0, split)->seal();
  });
}

std::string compare_torus(const std::vector<unsigned long>& dimensions) {
  const std::string json = fmt::format(R"({{"name": "torus", "dimensions": [{}]}})", fmt::join(dimensions, ", "));
  return compare_routes(json.c_str(), [&](const s4u::ClusterCallbacks& hosts) {
    s4u::create_torus_zone("zone", nullptr, dimensions, hosts, 1e9, 0.0, split)->seal();
  });
}

/// SimGrid 3.32 goes on from the group's first chassis after a hop within another one (DragonflyZone::get_local_route() forgets the
/// chassis): a message within that one takes a link too much, to another one the wrong link or one too few.
std::string compare_dragonfly(unsigned groups, unsigned chassis, unsigned routers, unsigned nodes) {
  const auto is_wrong_in_simgrid = [&](int from, int to) {
    const auto router = [&](int place) { return static_cast<unsigned>(place) / nodes; };
    const auto its_chassis = [&](int place) { return router(place) / routers; };
    const bool same_group = its_chassis(from) / chassis == its_chassis(to) / chassis;
    return same_group && its_chassis(from) % chassis != 0 && router(from) % routers != router(to) % routers;
  };
  const std::string json =
      fmt::format(R"({{"name": "dragonfly", "groups": {}, "chassis": {}, "routers": {}, "nodes": {}}})", groups, chassis, routers, nodes);
  return compare_routes(
      json.c_str(),
      [&](const s4u::ClusterCallbacks& hosts) {
        const s4u::DragonflyParams shape({groups, 1}, {chassis, 1}, {routers, 1}, nodes);
        s4u::create_dragonfly_zone("zone", nullptr, shape, hosts, 1e9, 0.0, split)->seal();
      },
      is_wrong_in_simgrid);
}

}  // namespace

TEST_SUITE("Are ways what SimGrid's zones say?") {
  TEST_CASE("every route of small fat-trees, of any oversubscription") {
    CHECK(compare_fat_tree(4, 1) == "");
    CHECK(compare_fat_tree(4, 2) == "");
    CHECK(compare_fat_tree(6, 1) == "");
    CHECK(compare_fat_tree(6, 3) == "");
    CHECK(compare_fat_tree(8, 1) == "");
    CHECK(compare_fat_tree(8, 2) == "");
    CHECK(compare_fat_tree(8, 4) == "");
  }

  TEST_CASE("every route of small trees, as fat-trees with one uplink") {
    CHECK(compare_tree(2, 1) == "");
    CHECK(compare_tree(2, 2) == "");
    CHECK(compare_tree(2, 5) == "");
    CHECK(compare_tree(3, 3) == "");
    CHECK(compare_tree(5, 2) == "");
  }

  TEST_CASE("every route of small tori, of odd and even sides") {
    CHECK(compare_torus({2, 2}) == "");
    CHECK(compare_torus({4, 4}) == "");
    CHECK(compare_torus({5, 3}) == "");
    CHECK(compare_torus({8, 6}) == "");
    CHECK(compare_torus({2, 3, 4}) == "");
    CHECK(compare_torus({4, 5, 6}) == "");
  }

  TEST_CASE("every route of small dragonflies") {
    CHECK(compare_dragonfly(1, 1, 2, 2) == "");
    CHECK(compare_dragonfly(3, 1, 4, 2) == "");
    CHECK(compare_dragonfly(3, 4, 4, 2) == "");
    CHECK(compare_dragonfly(2, 2, 2, 1) == "");
    CHECK(compare_dragonfly(4, 3, 5, 2) == "");
  }

  TEST_CASE("a dragonfly's ways between two chassis, which SimGrid gets wrong") {
    const Document document(Json::parse(R"({"name": "dragonfly", "groups": 3, "chassis": 4, "routers": 4, "nodes": 2})"), "topology");
    const auto dragonfly = read_topology(Field(document), 8);
    const auto describe = [&](int from, int to) {
      std::string text;
      for (const InnerLink& link : dragonfly->route(from, to)) {
        text += fmt::format("{}{}-{}", text.empty() ? "" : ", ", link.up ? link.lower : link.upper, link.up ? link.upper : link.lower);
      }
      return text;
    };
    CHECK(describe(8, 2) == "4-5, 5-1");        // chassis 1 to 0
    CHECK(describe(11, 30) == "5-7, 7-15");     // chassis 1 to 3
    CHECK(describe(40, 34) == "20-21, 21-17");  // likewise in another group
    CHECK(describe(8, 0) == "4-0");
    CHECK(describe(8, 9) == "");
  }
}
