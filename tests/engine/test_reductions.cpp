#include <doctest/doctest.h>

#include <algorithm>

#include "support/random_point.hpp"

using namespace syncopate;
using namespace syncopate::testing;

namespace {

/// Workers of different speeds, or equal ones.
Speed random_speed(std::mt19937& random, int workers) {
  Speed speed;
  speed.seed = random();
  if (random() % 3 == 0) return speed;
  speed.jitter = {Jitter::Distribution::lognormal, 0.3, {}};
  speed.slow.assign(static_cast<std::size_t>(workers), 1.0);
  speed.slow[random() % static_cast<unsigned>(workers)] = 1.6;
  speed.pauses = {{0, Seconds(0.01), Seconds(0.03)}};
  return speed;
}

void check_equal(const Metrics& a, const Metrics& b, double precision) {
  const auto same = [&](double x, double y) { return doctest::Approx(x).epsilon(precision) == y; };
  CHECK(same(a.iteration.value, b.iteration.value));
  CHECK(same(a.iteration_p50.value, b.iteration_p50.value));
  CHECK(same(a.iteration_p95.value, b.iteration_p95.value));
  CHECK(same(a.wait.value, b.wait.value));
  CHECK(same(a.exposed_communication.value, b.exposed_communication.value));
  CHECK(same(a.communication.value, b.communication.value));
  CHECK(same(a.communications_per_iteration, b.communications_per_iteration));
  CHECK(same(a.bytes_per_worker_per_iteration.value, b.bytes_per_worker_per_iteration.value));
  CHECK(same(a.staleness_mean, b.staleness_mean));
  CHECK(same(a.staleness_max, b.staleness_max));
}

/// The two schedules do the same on random traces and clusters, with workers that are equal and not.
void check_same_schedule(unsigned seed, const Json& a, const Json& b) {
  CAPTURE(a.dump());
  CAPTURE(b.dump());
  std::mt19937 random(seed);
  for (int i = 0; i < 20; ++i) {
    CAPTURE(i);
    const Cluster cluster = random_cluster(random, std::uniform_int_distribution<int>(2, 12)(random));
    const Trace trace = random_trace(random, 8);
    const Speed speed = random_speed(random, cluster.workers());
    std::vector<Metrics> metrics;
    for (const Json& schedule : {a, b}) {
      Point point = make_point(trace, cluster, schedule);
      point.scenario.speed = speed;
      point.scenario.warmup = point.scenario.measured = 8;
      metrics.push_back(simulate_point(point).metrics);
    }
    check_equal(metrics[0], metrics[1], 1e-12);
  }
}

}  // namespace

TEST_SUITE("Does one schedule reduce to another where it must?") {
  TEST_CASE("sasgd with an interval of 1 is sync-easgd") {
    check_same_schedule(31, {{"name", "sasgd"}, {"interval", 1}}, {{"name", "sync-easgd"}});
    check_same_schedule(31, {{"name", "local-sgd"}, {"interval", 1}}, {{"name", "sync-easgd"}});
  }

  TEST_CASE("dts without delay, period or compression is sync-easgd, and with a period it is sasgd") {
    check_same_schedule(32, {{"name", "dts"}, {"delay", 0}}, {{"name", "sync-easgd"}});
    check_same_schedule(33, {{"name", "dts"}, {"delay", 0}, {"in_flight", "serial"}}, {{"name", "sync-easgd"}});
    check_same_schedule(34, {{"name", "dts"}, {"delay", 0}, {"period", 4}}, {{"name", "sasgd"}, {"interval", 4}});
    check_same_schedule(35, {{"name", "dts"}, {"delay", 0}, {"in_flight", "serial"}, {"launch", "gradient"}}, {{"name", "wfbp"}});
  }

  TEST_CASE("over a network that takes no time every schedule is compute") {
    std::mt19937 random(35);
    for (const Json& schedule : one_of_each) {
      CAPTURE(schedule.dump());
      for (int gpus : {1, 3}) {
        Cluster cluster = random_cluster(random, 6);
        cluster.link = {Rate(1e30), Seconds(0)};
        cluster.reduce = SecondsPerByte(0);
        cluster.gpus_per_node = gpus;
        cluster.intra_node = cluster.link;
        Point point = make_point(random_trace(random, 8), cluster, schedule);
        point.scenario.warmup = point.scenario.measured = 12;
        const Metrics m = simulate_point(point).metrics;
        CHECK(m.iteration.value == doctest::Approx(m.compute.value).epsilon(1e-12));
        CHECK(m.efficiency == doctest::Approx(1.0).epsilon(1e-12));
      }
    }
  }

  TEST_CASE(
      "one worker does not communicate but with servers elsewhere, and one client of servers does not notice that nobody else is there") {
    std::mt19937 random(36);
    for (const Json& schedule : one_of_each) {
      Json alone = schedule;
      if (alone.contains("servers")) alone["servers"] = 1;
      const Trace trace = random_trace(random, 8);
      const Cluster one = random_cluster(random, 1);
      const bool serves = make_point(trace, one, alone).scenario.schedule.traffic.servers.has_value();
      if (serves) alone["colocated"] = true;
      CAPTURE(alone.dump());
      Point point = make_point(trace, one, alone);
      point.scenario.warmup = point.scenario.measured = 12;
      const Metrics m = simulate_point(point).metrics;
      CHECK(m.iteration.value == doctest::Approx(m.compute.value).epsilon(1e-12));
      CHECK(m.communication == Seconds(0));
      if (!serves) {
        CHECK(m.communications_per_iteration == 0.0);
        continue;
      }
      alone["colocated"] = false;
      Point elsewhere = make_point(trace, one, alone);
      elsewhere.scenario.warmup = elsewhere.scenario.measured = 12;
      CHECK(simulate_point(elsewhere).metrics.communication > Seconds(0));
    }
    for (int i = 0; i < 10; ++i) {
      Cluster node = random_cluster(random, 1);
      node.gpus_per_node = 2;
      node.intra_node = {Rate(1e10), Seconds(1e-5)};
      const Trace trace = random_trace(random, 8);
      const Metrics synchronous = simulate_point(make_point(trace, node, "ps-sgd")).metrics;
      const Metrics asynchronous = simulate_point(make_point(trace, node, "asgd")).metrics;
      check_equal(synchronous, asynchronous, 1e-12);
      CHECK(synchronous.communications_per_iteration > 0.0);
    }
  }

  TEST_CASE("nodes with one GPU are flat, whatever link they have inside") {
    std::mt19937 random(37);
    for (const Json& schedule : one_of_each) {
      CAPTURE(schedule.dump());
      const Cluster flat = random_cluster(random, 5);
      Cluster two_level = flat;
      two_level.intra_node = {Rate(1e6), Seconds(1)};
      const Trace trace = random_trace(random, 8);
      check_equal(simulate_point(make_point(trace, flat, schedule)).metrics, simulate_point(make_point(trace, two_level, schedule)).metrics,
                  1e-15);
    }
  }

  TEST_CASE("lasgd of equal workers with tau_max 1 takes the longer of a step and an all-reduce") {
    std::mt19937 random(38);
    for (int i = 0; i < 40; ++i) {
      CAPTURE(i);
      const Trace trace = random_trace(random, 8);
      const Cluster cluster = random_cluster(random, 7);
      const StepProfile profile = step_profile(trace, Granularity::tensor);
      const Seconds all_reduce = collective_cost(cluster, Operation::all_reduce, algorithms().front(), 7)(profile.bytes());
      const Metrics m = simulate_point(make_point(trace, cluster, {{"name", "lasgd"}, {"tau_max", 1}})).metrics;
      CHECK(m.iteration.value == doctest::Approx(std::max(profile.compute(), all_reduce).value).epsilon(1e-12));
    }
  }
}

TEST_SUITE("Do ties at a server go by rank?") {
  // With round numbers a server's own work spaces equal clients so that a request often meets an arrival or the end of a work.
  TEST_CASE("equal clients whose requests meet do the same with and without shortcuts") {
    Trace trace;
    trace.model = "round";
    trace.batch = 1;
    trace.provenance.kind = "synthetic";
    trace.layers = {{"l", "unknown", Seconds(0.01), Seconds(0.03), {}, {}}};
    Gradient gradient;
    gradient.name = "w";
    gradient.bytes = Bytes(4e6);
    trace.gradients = {gradient};
    trace.update = Seconds(0.001);
    for (const char* name : {"eamsgd", "downpour", "asgd", "ssd-sgd", "ps-sgd"}) {
      CAPTURE(name);
      for (const int nodes : {2, 3, 5, 8}) {
        for (const bool duplex : {true, false}) {
          Cluster cluster;
          cluster.name = "round";
          cluster.nodes = nodes;
          cluster.link = {Rate(1e9), Seconds(1e-4)};
          cluster.topology = default_topology();
          Json schedule = {{"name", name}, {"duplex", duplex}, {"server_s_per_B", 1e-9}};
          if (schedule["name"] == "eamsgd" || schedule["name"] == "downpour") schedule["interval"] = 1;
          if (schedule["name"] == "ssd-sgd") schedule["delay"] = 2;
          Point point = make_point(trace, cluster, schedule);
          point.scenario.measured = 12;
          check_equal(simulate_point(point).metrics, simulate_point(point, {.shortcuts = false}).metrics, 1e-9);
        }
      }
    }
  }
}

TEST_SUITE("Does one worker stand for all, also where they do not wait in every step?") {
  TEST_CASE("every schedule, with and without shortcuts") {
    std::mt19937 random(39);
    for (const Json& schedule : one_of_each) {
      CAPTURE(schedule.dump());
      for (int i = 0; i < 8; ++i) {
        CAPTURE(i);
        Cluster cluster = random_cluster(random, std::uniform_int_distribution<int>(2, 9)(random));
        cluster.gpus_per_node = i % 3 == 0 ? 2 : 1;
        cluster.intra_node = {Rate(1e10), Seconds(1e-5)};
        cluster.latency_cv = i % 4 == 0 ? 0.3 : 0.0;
        Json wanted = schedule;
        if (wanted.contains("servers") && i % 3 == 0) wanted["server_s_per_B"] = 1e-9;
        const bool colocated = wanted.contains("servers") && i % 2 == 0;
        if (colocated) wanted["colocated"] = true;
        if (colocated && i % 4 == 0) wanted["servers"] = cluster.nodes;
        Point point = make_point(random_trace(random, 8), cluster, wanted);
        point.scenario.speed.overlap_slowdown = i == 5 ? 0.3 : 0.0;
        point.scenario.warmup = 4;
        point.scenario.measured = 12;
        const PointResult one = simulate_point(point);
        const PointResult all = simulate_point(point, {.shortcuts = false});
        check_equal(one.metrics, all.metrics, 1e-9);
        CHECK(all.workers_simulated >= cluster.nodes);
        const std::string name = schedule["name"];
        const bool alike = name != "asgd" && name != "downpour" && name != "eamsgd" && (!colocated || wanted["servers"] == cluster.nodes);
        CHECK((one.workers_simulated == 1) == alike);
      }
    }
  }
}
