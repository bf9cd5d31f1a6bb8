#include <doctest/doctest.h>

#include <algorithm>

#include "schedule/grouping.hpp"
#include "support/random_point.hpp"

using namespace syncopate;
using namespace syncopate::testing;

namespace {

const std::vector<std::string> names = {"s-sgd", "wfbp", "sync-easgd", "mg-wfbp", "mg-wfbp-optimal", "fusion"};

std::string any(std::mt19937& random, const std::vector<std::string>& list) { return list[random() % list.size()]; }

Point random_point(std::mt19937& random, int most_layers) {
  std::vector<std::string> all_reduces;
  for (const Algorithm& row : algorithms()) all_reduces.emplace_back(row.name);
  const int nodes = std::uniform_int_distribution<int>(2, 40)(random);
  return make_point(random_trace(random, most_layers), random_cluster(random, nodes), any(random, names), any(random, all_reduces));
}

double iteration_s(const Point& point) { return simulate_point(point).metrics.iteration.value; }

constexpr double slack = 1.0 + 1e-9;

}  // namespace

TEST_SUITE("Does the engine agree with closed forms and with itself?") {
  TEST_CASE("every schedule's iteration is forward, the end of backward or of its last all-reduce, and the update") {
    std::mt19937 random(11);
    for (int i = 0; i < 200; ++i) {
      CAPTURE(i);
      const Trace trace = random_trace(random, 40);
      const Cluster cluster = random_cluster(random, 8);
      const StepProfile profile = step_profile(trace, Granularity::tensor);
      const CostCurve cost = collective_cost(cluster, Operation::all_reduce, ring(), 8);
      const std::vector<Grouping> groupings = {group_s_sgd(profile, cost),           group_wfbp(profile, cost),
                                               group_sync_easgd(profile, cost),      group_mg_wfbp(profile, cost),
                                               group_mg_wfbp_optimal(profile, cost), Fusion()(profile, cost)};
      const std::size_t schedule = random() % names.size();
      CAPTURE(names[schedule]);
      const Seconds end = std::max(profile.backward, communication_end(groupings[schedule], profile, cost));
      const PointResult result = simulate_point(make_point(trace, cluster, names[schedule]));
      CHECK(result.metrics.iteration.value == doctest::Approx((profile.forward + end + profile.update).value).epsilon(1e-9));
      CHECK(result.metrics.communications_per_iteration == doctest::Approx(static_cast<double>(groupings[schedule].size())).epsilon(1e-9));
      CHECK(result.metrics.bytes_per_worker_per_iteration.value == doctest::Approx(profile.bytes().value).epsilon(1e-9));
      CHECK(result.metrics.staleness_max == 0.0);
    }
  }

  TEST_CASE("an iteration is never shorter than compute nor than its bytes' time on the channel, and its parts add up") {
    std::mt19937 random(12);
    for (int i = 0; i < 200; ++i) {
      CAPTURE(i);
      const Point point = random_point(random, 40);
      const Metrics m = simulate_point(point).metrics;
      const StepProfile profile = step_profile(*point.scenario.trace, Granularity::tensor);
      CHECK(m.iteration.value * slack >= profile.compute().value);
      CHECK(m.iteration.value * slack >= collective_cost(point.scenario.cluster, Operation::all_reduce,
                                                         *point.scenario.all_reduce.algorithm,
                                                         point.scenario.cluster.nodes)(profile.bytes())
                                             .value);
      CHECK((m.compute + m.wait + m.exposed_communication).value == doctest::Approx(m.iteration.value).epsilon(1e-9));
      CHECK(m.communication.value <= m.iteration.value * slack);
      CHECK(m.exposed_communication.value <= m.communication.value * slack);
      CHECK(m.wait.value == 0.0);
    }
  }

  TEST_CASE("more bandwidth or less latency never slows wfbp") {
    std::mt19937 random(13);
    for (int i = 0; i < 100; ++i) {
      CAPTURE(i);
      const Trace trace = random_trace(random, 40);
      Cluster cluster = random_cluster(random, 16);
      const double before = iteration_s(make_point(trace, cluster, "wfbp"));
      const bool faster = random() % 2 == 0;
      if (faster) {
        cluster.link.bandwidth = Rate(cluster.link.bandwidth.value * 1.7);
      } else {
        cluster.link.latency = cluster.link.latency / 2.0;
      }
      CHECK(iteration_s(make_point(trace, cluster, "wfbp")) <= before * slack);
    }
  }

  TEST_CASE("one worker for all gives what all of them give") {
    std::mt19937 random(14);
    for (int i = 0; i < 60; ++i) {
      CAPTURE(i);
      const Point point = random_point(random, 25);
      CAPTURE(point.scenario.schedule.name);
      const PointResult one = simulate_point(point);
      const PointResult all = simulate_point(point, {.shortcuts = false});
      CHECK(one.workers_simulated == 1);
      CHECK(all.workers_simulated == point.scenario.cluster.nodes);
      CHECK(one.metrics.iteration.value == doctest::Approx(all.metrics.iteration.value).epsilon(1e-9));
      CHECK(one.metrics.iteration_p95.value == doctest::Approx(all.metrics.iteration_p95.value).epsilon(1e-9));
      CHECK(one.metrics.exposed_communication.value == doctest::Approx(all.metrics.exposed_communication.value).epsilon(1e-9));
      CHECK(one.metrics.communication.value == doctest::Approx(all.metrics.communication.value).epsilon(1e-9));
      CHECK(one.metrics.throughput == doctest::Approx(all.metrics.throughput).epsilon(1e-9));
      CHECK(one.metrics.wait.value == doctest::Approx(all.metrics.wait.value).epsilon(1e-9));
    }
  }

  TEST_CASE("a single worker only computes") {
    std::mt19937 random(15);
    for (const std::string& name : names) {
      const Trace trace = random_trace(random, 10);
      const Metrics m = simulate_point(make_point(trace, random_cluster(random, 1), name)).metrics;
      CHECK(m.iteration.value == doctest::Approx(step_profile(trace, Granularity::tensor).compute().value).epsilon(1e-12));
      CHECK(m.communications_per_iteration == 0.0);
      CHECK(m.bytes_per_worker_per_iteration == Bytes(0));
      CHECK(m.communication == Seconds(0));
      CHECK(m.efficiency == doctest::Approx(1.0));
    }
  }
}

TEST_SUITE("Groups of ranks") {
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
    CHECK(ranks_of(each_region(places)) == Lists{{2, 3}, {0, 1, 4, 5}});
    CHECK(ranks_of(each_region({4, 2, {}})) == Lists{{0, 1, 2, 3}});
  }
}
