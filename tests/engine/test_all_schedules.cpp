#include <doctest/doctest.h>

#include <cmath>

#include "base/processes.hpp"
#include "schedule/schedules.hpp"
#include "support/random_point.hpp"

using namespace syncopate;
using namespace syncopate::testing;

namespace {

/// Draws of one kind of configuration after another, from one seed.
class Draws {
 public:
  explicit Draws(unsigned seed) : random_(seed) {}

  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  double number(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  bool chance(double probability) { return number(0.0, 1.0) < probability; }
  std::mt19937& generator() { return random_; }

  Json schedule(const std::string& name, const Cluster& cluster) {
    Json json = {{"name", name}};
    const auto servers = [&] {
      json["servers"] = whole(1, cluster.nodes);
      json["colocated"] = chance(0.3);
      json["duplex"] = chance(0.6);
      if (chance(0.4)) json["server_s_per_B"] = number(0.0, 1e-9);
    };
    if (name == "ps-sgd" || name == "asgd") servers();
    if (name == "ssd-sgd") {
      servers();
      json["delay"] = whole(1, 5);
      json["warmup_iterations"] = whole(0, 3);
      json["local_update_s"] = number(0.0, 1e-3);
    }
    if (name == "downpour" || name == "eamsgd") servers();
    if (name == "downpour" || name == "eamsgd" || name == "sasgd" || name == "local-sgd") json["interval"] = whole(1, 5);
    if (name == "dts") {
      json["delay"] = whole(0, 5);
      json["period"] = whole(1, 4);
      if (chance(0.4)) json["compression"] = number(0.01, 1.0);
      json["sparse"] = chance(0.5) ? "all-gather" : "all-reduce";
      json["in_flight"] = chance(0.5) ? "pipelined" : "serial";
      json["overhead_s"] = number(0.0, 1e-3);
    }
    if (name == "lasgd") {
      json["tau_max"] = whole(1, 6);
      json["worker"] = chance(0.5) ? "node" : "gpu";
      if (chance(0.4)) json["participants"] = number(0.05, 1.0);
    }
    return json;
  }

  Cluster cluster(int nodes) {
    Cluster cluster = random_cluster(random_, nodes);
    if (chance(0.25)) {
      cluster.gpus_per_node = whole(2, 4);
      cluster.intra_node = {Rate(number(1e9, 1e11)), Seconds(number(0.0, 1e-4))};
    }
    if (chance(0.2)) cluster.latency_cv = number(0.0, 0.5);
    return cluster;
  }

  Speed speed(int workers) {
    Speed speed;
    speed.seed = random_();
    if (chance(0.2)) return speed;
    if (chance(0.4)) {
      speed.slow.resize(static_cast<std::size_t>(workers));
      for (double& factor : speed.slow) factor = chance(0.3) ? number(1.0, 3.0) : 1.0;
    }
    if (chance(0.3)) speed.jitter = {Jitter::Distribution::uniform, number(0.0, 0.5), {}};
    if (chance(0.2)) speed.jitter = {Jitter::Distribution::lognormal, number(0.0, 0.5), {}};
    if (chance(0.2)) speed.jitter = {Jitter::Distribution::empirical, 0.0, {0.5, 0.75, 1.75}};
    for (int pauses = chance(0.3) ? whole(1, 4) : 0; pauses > 0; --pauses) {
      const Seconds start(number(0.0, 0.5));
      speed.pauses.push_back({whole(0, workers - 1), start, start + Seconds(number(1e-4, 0.3))});
    }
    if (chance(0.2)) speed.overlap_slowdown = number(0.0, 0.6);
    return speed;
  }

  Point point(const std::string& name) {
    const Cluster where = cluster(whole(2, 33));
    Point point = make_point(random_trace(random_, 8), where, schedule(name, where));
    point.scenario.speed = speed(where.workers());
    const int cycle = point.scenario.schedule.pace.cycle;
    point.scenario.warmup = cycle * whole(0, 2);
    point.scenario.measured = cycle * whole(1, 3);
    return point;
  }

 private:
  std::mt19937 random_;
};

/// No step is shorter than its undisturbed compute times this.
double least_factor(const Speed& speed) {
  switch (speed.jitter.distribution) {
    case Jitter::Distribution::none: return 1.0;
    case Jitter::Distribution::uniform: return 1.0 - speed.jitter.cv * std::sqrt(3.0);
    case Jitter::Distribution::lognormal: return speed.jitter.cv == 0.0 ? 1.0 : 0.0;
    case Jitter::Distribution::empirical: return 0.5;
  }
  return 0.0;
}

void check_result(const Point& point, const Metrics& m) {
  const StepProfile profile = step_profile(*point.scenario.trace, point.scenario.granularity);
  const double compute = least_factor(point.scenario.speed) * (profile.forward + profile.backward).value +
                         (m.compute - profile.forward - profile.backward).value;
  CHECK(m.iteration.value >= compute * (1 - 1e-9));
  CHECK((m.compute + m.wait + m.exposed_communication).value == doctest::Approx(m.iteration.value).epsilon(1e-9));
  CHECK(m.exposed_communication.value >= 0.0);
  CHECK(m.communication.value <= m.iteration.value * (1 + 1e-9));
  CHECK(m.staleness_max >= m.staleness_mean * (1 - 1e-12));

  const std::string& name = point.scenario.schedule.name;
  const double model = profile.bytes().value;
  const double bytes = m.bytes_per_worker_per_iteration.value;
  if (point.scenario.schedule.traffic.servers && (name == "ps-sgd" || name == "asgd")) {
    CHECK(bytes == doctest::Approx(2 * model).epsilon(1e-9));
  } else if (name == "ssd-sgd") {
    const auto groups = static_cast<double>(profile.gradients.size());
    CHECK(bytes / model == doctest::Approx(m.communications_per_iteration / groups).epsilon(1e-9));
    CHECK(bytes >= model * (1 - 1e-9));
    CHECK(bytes <= 2 * model * (1 + 1e-9));
  } else if (name == "dts") {
    CHECK(bytes <= model * m.communications_per_iteration * 2);  // an index for every value at most
  } else if (point.scenario.schedule.pace.cycle > 1 || name == "lasgd" || name == "sgp" || name == "sasgd" || name == "local-sgd" ||
             name == "downpour" || name == "eamsgd") {
    CHECK(bytes == doctest::Approx(model * m.communications_per_iteration).epsilon(1e-9));
  } else {
    CHECK(bytes == doctest::Approx(model).epsilon(1e-9));
  }
}

}  // namespace

TEST_SUITE("Does every schedule finish, whatever its workers do?") {
  TEST_CASE("1,000 random configurations of each") {
    constexpr int configurations = 1000;
    unsigned seed = 100;
    for (const ScheduleRow& row : schedules()) {
      const std::string name(row.name);
      CAPTURE(name);
      Draws draws(++seed);
      std::vector<Point> points;
      points.reserve(configurations);
      for (int i = 0; i < configurations; ++i) points.push_back(draws.point(name));
      run_forked(
          configurations, 2, [&](int i) { return simulate_point(points[static_cast<std::size_t>(i)], {}).pack(); },
          [&](int i, const Outcome& outcome) {
            CAPTURE(i);
            REQUIRE_MESSAGE(outcome.ok, outcome.error);
            check_result(points[static_cast<std::size_t>(i)], PointResult::unpack(outcome.result).metrics);
          });
    }
  }
}
