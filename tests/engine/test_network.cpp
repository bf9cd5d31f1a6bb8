#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <simgrid/s4u.hpp>

#include "base/document.hpp"
#include "base/processes.hpp"
#include "cluster/topologies.hpp"
#include "schedule/schedule.hpp"

using namespace syncopate;

namespace {

std::string describe(const std::string& cable, bool up) { return cable + (up ? " up" : " down"); }

/// The first way between two places that a topology finds otherwise than its zone, or "".
std::string compare_routes(const char* json, int places) {
  return in_another_process([&]() -> std::string {
    const Document document(Json::parse(json), "topology");
    const auto topology = read_topology(Field(document), places);
    const std::vector<simgrid::s4u::Host*> hosts = topology->build(places, 1e9);
    if (!topology->knows_routes() || topology->places() != places) return "not what the test is for";
    for (int from = 0; from < places; ++from) {
      for (int to = 0; to < places; ++to) {
        if (from == to) continue;
        std::vector<simgrid::s4u::Link*> links;
        double latency = 0.0;
        hosts[static_cast<std::size_t>(from)]->route_to(hosts[static_cast<std::size_t>(to)], links, &latency);
        std::vector<std::string> theirs;
        for (std::size_t i = 1; i + 1 < links.size(); ++i) {
          const std::string name = links[i]->get_name();
          theirs.push_back(describe(topology->link_name(name.substr(0, name.rfind('_'))), name.ends_with("_UP")));
        }
        std::vector<std::string> ours;
        for (const SwitchLink& link : topology->route(from, to))
          ours.push_back(describe(fmt::format("switch {} - switch {}", link.lower, link.upper), link.up));
        if (ours != theirs) return fmt::format("{} to {}: {} instead of {}", from, to, ours, theirs);
      }
    }
    return "";
  });
}

}  // namespace

TEST_SUITE("Are ways what SimGrid's zones say, where none is built?") {
  TEST_CASE("every route of small fat-trees, of any oversubscription") {
    CHECK(compare_routes(R"({"name": "fat-tree", "k": 4})", 16) == "");
    CHECK(compare_routes(R"({"name": "fat-tree", "k": 4, "oversubscription": 2})", 16) == "");
    CHECK(compare_routes(R"({"name": "fat-tree", "k": 6})", 54) == "");
    CHECK(compare_routes(R"({"name": "fat-tree", "k": 6, "oversubscription": 3})", 54) == "");
    CHECK(compare_routes(R"({"name": "fat-tree", "k": 8})", 128) == "");
    CHECK(compare_routes(R"({"name": "fat-tree", "k": 8, "oversubscription": 2})", 128) == "");
    CHECK(compare_routes(R"({"name": "fat-tree", "k": 8, "oversubscription": 4})", 128) == "");
  }

  TEST_CASE("groups of ranks by where they are") {
    const RankPlaces places = {6, 2, {1, 0, 1}};
    const auto ranks_of = [](const Groups& groups) {
      std::vector<std::vector<int>> ranks;
      for (const Communicator& group : groups) {
        ranks.emplace_back();
        for (int member = 0; member < group.size(); ++member) ranks.back().push_back(group.rank(member));
      }
      return ranks;
    };
    using Lists = std::vector<std::vector<int>>;
    CHECK(ranks_of(everybody(places)) == Lists{{0, 1, 2, 3, 4, 5}});
    CHECK(ranks_of(each_node(places)) == Lists{{0, 1}, {2, 3}, {4, 5}});
    CHECK(ranks_of(across_nodes(places)) == Lists{{0, 2, 4}, {1, 3, 5}});
    CHECK(ranks_of(each_region(places)) == Lists{{2, 3}, {0, 1, 4, 5}});
    CHECK(ranks_of(each_region({4, 2, {}})) == Lists{{0, 1, 2, 3}});
  }
}
