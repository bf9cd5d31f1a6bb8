#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "support/random_point.hpp"

using namespace syncopate;
using namespace syncopate::testing;

namespace {

Document topology(const char* json) { return {Json::parse(json), "topology"}; }

/// 16 nodes of one GPU or two on a star or on something that contends.
Cluster sixteen(std::mt19937& random, int variant) {
  Cluster cluster = random_cluster(random, 16);
  cluster.link = {Rate(1e9), Seconds(2e-5)};
  cluster.gpus_per_node = variant == 1 ? 2 : 1;
  cluster.intra_node = {Rate(1e10), Seconds(1e-6)};
  static const std::vector<Document> topologies = {topology(R"("star")"), topology(R"("star")"),
                                                   topology(R"({"name": "fat-tree", "k": 8, "oversubscription": 2})"),
                                                   topology(R"({"name": "torus", "dimensions": [5, 4]})")};
  cluster.topology = read_topology(Field(topologies[static_cast<std::size_t>(variant)]), 16);
  cluster.placement = {variant == 2 ? Placement::Kind::random : Placement::Kind::linear, 5};
  return cluster;
}

void check_same(const Metrics& a, const Metrics& b, double precision) {
  const auto same = [&](double x, double y) { return std::abs(x - y) <= precision * std::max(a.iteration.value, std::abs(x)); };
  CHECK(same(a.iteration.value, b.iteration.value));
  CHECK(same(a.iteration_p50.value, b.iteration_p50.value));
  CHECK(same(a.iteration_p95.value, b.iteration_p95.value));
  CHECK(same(a.wait.value, b.wait.value));
  CHECK(same(a.exposed_communication.value, b.exposed_communication.value));
  CHECK(same(a.communication.value, b.communication.value));
  CHECK(same(a.communications_per_iteration, b.communications_per_iteration));
  CHECK(same(a.staleness_mean, b.staleness_mean));
}

Point make(std::mt19937& random, const Cluster& cluster, const Json& schedule, const std::string& all_reduce, Fidelity fidelity) {
  Point point = make_point(random_trace(random, 5), cluster, schedule, all_reduce);
  point.scenario.fidelity = fidelity;
  point.scenario.warmup = point.scenario.schedule.pace.cycle;
  point.scenario.measured = 2 * point.scenario.schedule.pace.cycle;
  return point;
}

}  // namespace

TEST_SUITE("Do messages and flows agree where they must?") {
  TEST_CASE("every schedule on 16 nodes, with every shortcut and without any") {
    std::mt19937 random(61);
    for (const Json& schedule : one_of_each) {
      if (schedule.contains("participants")) continue;  // has no messages
      for (const Fidelity fidelity : {Fidelity::per_message, Fidelity::flow}) {
        for (const int variant : {0, 1, 2, 3}) {
          CAPTURE(schedule.dump());
          CAPTURE(to_string(fidelity));
          CAPTURE(variant);
          const std::string all_reduce = variant == 3 ? "halving-doubling" : "ring";
          Point point = make(random, sixteen(random, variant), schedule, all_reduce, fidelity);
          if (variant == 2) point.scenario.speed.slow.assign(static_cast<std::size_t>(point.scenario.cluster.workers()), 1.0);
          if (variant == 2) point.scenario.speed.slow[3] = 1.4;
          check_same(simulate_point(point).metrics, simulate_point(point, {.shortcuts = false}).metrics, 1e-9);
        }
      }
    }
  }

  TEST_CASE("a star, where no link is shared: flows are messages, also with unequal workers and several GPUs") {
    std::mt19937 random(62);
    for (const Json& schedule : one_of_each) {
      const std::string name = schedule["name"];
      const bool overlaps = name == "dts" && !schedule.contains("in_flight");  // messages take turns, flows share
      if (overlaps || name == "sgp" || schedule.contains("participants")) continue;
      for (const char* all_reduce : {"ring", "double-binary-tree", "recursive-doubling"}) {
        for (const int nodes : {2, 3, 7, 8, 16}) {
          CAPTURE(schedule.dump());
          CAPTURE(all_reduce);
          CAPTURE(nodes);
          Cluster cluster = random_cluster(random, nodes);
          cluster.gpus_per_node = nodes == 7 ? 2 : 1;
          cluster.intra_node = {Rate(1e10), Seconds(1e-6)};
          Json wanted = schedule;
          if (wanted.contains("servers")) wanted["servers"] = std::min(2, nodes);
          Point point = make(random, cluster, wanted, all_reduce, Fidelity::per_message);
          point.scenario.speed.jitter = {Jitter::Distribution::lognormal, 0.2, {}};
          point.scenario.speed.seed = static_cast<std::uint64_t>(nodes);
          const Metrics messages = simulate_point(point).metrics;
          point.scenario.fidelity = Fidelity::flow;
          check_same(messages, simulate_point(point).metrics, 1e-9);
        }
      }
    }
  }

  TEST_CASE("sharing links never makes a ring or a tree faster, and a link is never more than full") {
    std::mt19937 random(63);
    for (const char* all_reduce : {"ring", "halving-doubling", "recursive-doubling", "binary-tree"}) {
      for (const int variant : {2, 3}) {
        CAPTURE(all_reduce);
        CAPTURE(variant);
        Point point = make(random, sixteen(random, variant), "wfbp", all_reduce, Fidelity::per_message);
        const double messages = simulate_point(point).metrics.iteration.value;
        point.scenario.fidelity = Fidelity::flow;
        const PointResult flows = simulate_point(point);
        CHECK(flows.metrics.iteration.value >= messages * (1.0 - 1e-9));
        REQUIRE(flows.details["links"].size() == 10);
        for (const Json& link : flows.details["links"]) CHECK(link["utilisation"].get<double>() <= 1.0 + 1e-9);
      }
    }
  }

  TEST_CASE("more oversubscription, less bandwidth: never faster") {
    std::mt19937 random(64);
    double before = 0.0;
    for (const char* ratio : {"1", "2", "4"}) {
      std::mt19937 same = random;
      Cluster cluster = sixteen(same, 0);
      const Document shape = topology(fmt::format(R"({{"name": "fat-tree", "k": 8, "oversubscription": {}}})", ratio).c_str());
      cluster.topology = read_topology(Field(shape), 16);
      const double iteration = simulate_point(make(same, cluster, "wfbp", "halving-doubling", Fidelity::flow)).metrics.iteration.value;
      CHECK(iteration >= before * (1.0 - 1e-9));
      before = iteration;
    }
  }

  TEST_CASE("in alpha-beta, messages between peers take the link's time in any topology") {
    std::mt19937 random(5);
    const Trace trace = random_trace(random, 4);
    Cluster cluster = random_cluster(random, 16);
    const Metrics star = simulate_point(make_point(trace, cluster, "sgp")).metrics;
    for (const char* const name : {R"("fat-tree")", R"("torus")"}) {
      const Document document = topology(name);
      cluster.topology = read_topology(Field(document), cluster.nodes);
      CHECK(simulate_point(make_point(trace, cluster, "sgp")).metrics.iteration == star.iteration);
    }
  }
}
