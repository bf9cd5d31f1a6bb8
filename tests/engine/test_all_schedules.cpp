#include <doctest/doctest.h>

#include <cmath>

#include "base/processes.hpp"
#include "scenario/read.hpp"
#include "schedule/grouping.hpp"
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
  const std::string& any(const std::vector<std::string>& names) {
    return names[static_cast<std::size_t>(whole(0, static_cast<int>(names.size()) - 1))];
  }

  /// A value of a parameter as it is declared, of a size that a test can afford.
  Json value(const ParameterInfo& parameter, int nodes) {
    using Kind = ParameterInfo::Kind;
    switch (parameter.kind) {
      case Kind::integer: {
        const int low = static_cast<int>(parameter.low);
        return whole(low, parameter.name == "servers" ? nodes : std::min(static_cast<int>(parameter.high), low + 5));
      }
      case Kind::number: return number(parameter.low + 0.01, std::min(parameter.high, 8.0));
      case Kind::boolean: return chance(0.5);
      case Kind::seconds: return number(0.0, 1e-3);
      case Kind::bytes: return whole(1, 10'000'000);
      case Kind::seconds_per_byte: return number(0.0, 1e-9);
      case Kind::choice: return any(parameter.choices);
      case Kind::grouping:
        return std::string(groupings()[static_cast<std::size_t>(whole(0, static_cast<int>(groupings().size()) - 1))].name);
    }
    return nullptr;
  }

  Json schedule(const ScheduleRow& row, int nodes) {
    Json json = {{"name", row.name}};
    for (const ParameterInfo& parameter : row.parameters) {
      if (parameter.default_value.empty() || chance(0.5)) json[parameter.name] = value(parameter, nodes);
    }
    return json;
  }

  Json cluster(int nodes) {
    Json cluster = {{"format", "cluster/1"},
                    {"name", "random"},
                    {"nodes", nodes},
                    {"link", {{"bandwidth", std::pow(10.0, number(7.0, 11.0))}, {"latency", std::pow(10.0, number(-6.0, -3.0))}}},
                    {"reduce_s_per_B", chance(0.5) ? 0.0 : number(0.0, 3e-9)}};
    if (chance(0.25)) {
      cluster["gpus_per_node"] = whole(2, 4);
      cluster["intra_node"] = {{"bandwidth", number(1e9, 1e11)}, {"latency", number(0.0, 1e-4)}};
    }
    if (chance(0.2)) cluster["latency_cv"] = number(0.0, 0.5);
    return cluster;
  }

  Json workers(int count) {
    Json workers = Json::object();
    if (chance(0.2)) return workers;
    for (int rank = 0; chance(0.6) && rank < count; rank += whole(1, count)) {
      workers["slow"].push_back({{"ranks", std::to_string(rank)}, {"factor", number(1.0, 3.0)}});
    }
    if (chance(0.3)) workers["jitter"] = {{"distribution", "uniform"}, {"cv", number(0.0, 0.5)}};
    if (chance(0.2)) workers["jitter"] = {{"distribution", "lognormal"}, {"cv", number(0.0, 0.5)}};
    if (chance(0.2)) workers["jitter"] = {{"distribution", "empirical"}, {"factors", {0.5, 0.75, 1.75}}};
    for (int pauses = chance(0.3) ? whole(1, 4) : 0; pauses > 0; --pauses) {
      workers["events"].push_back(
          {{"kind", "pause"}, {"rank", whole(0, count - 1)}, {"at_s", number(0.0, 0.5)}, {"for_s", number(1e-4, 0.3)}});
    }
    if (chance(0.2)) workers["overlap_slowdown"] = number(0.0, 0.6);
    return workers;
  }

  /// A scenario, read as a file would be.
  Point point(const ScheduleRow& row) {
    const bool messages = chance(0.4);
    const int nodes = messages ? whole(2, 12) : whole(2, 33);
    Json scenario = {{"format", "scenario/1"},
                     {"name", "random"},
                     {"trace", parse_json(write_trace(random_trace(random_, 8)), "trace")},
                     {"cluster", cluster(nodes)},
                     {"schedule", schedule(row, nodes)},
                     {"fidelity", "alpha-beta"},
                     {"iterations", {{"warmup", whole(0, 6)}, {"measured", whole(1, 12)}}},
                     {"seed", random_()}};
    scenario["workers"] = workers(nodes * scenario["cluster"].value("gpus_per_node", 1));
    const bool is_partial = scenario["schedule"].value("participants", 1.0) < 1.0;
    if (messages) scenario["fidelity"] = chance(0.7) || is_partial ? "per-message" : "flow";
    if (messages) scenario["all_reduce"] = algorithms()[static_cast<std::size_t>(whole(0, 3))].name;
    if (chance(0.2) && !is_partial && !scenario["schedule"].contains("in_flight")) scenario["channels"] = whole(1, 4);
    const Document document(scenario, "random");
    Library library(".");
    Point point;
    point.scenario = read_scenario(document, library);
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
  const auto groups_everything = [&] {
    return std::any_of(groupings().begin(), groupings().end(), [&](const GroupingRow& row) { return row.name == name; });
  };
  if (name == "ps-sgd" || name == "asgd") {
    CHECK(bytes == doctest::Approx(2 * model).epsilon(1e-9));
  } else if (name == "ssd-sgd") {
    CHECK(bytes >= model * (1 - 1e-9));
    CHECK(bytes <= 2 * model * (1 + 1e-9));
  } else if (name == "dts") {
    CHECK(bytes <= model * m.communications_per_iteration * 5);  // an index of up to 8 bytes for every value of 2 at most
  } else if (groups_everything()) {
    CHECK(bytes == doctest::Approx(model).epsilon(1e-9));
  } else if (point.scenario.schedule.traffic.peers || name == "lasgd" || name == "sasgd" || name == "local-sgd" || name == "downpour" ||
             name == "eamsgd") {
    CHECK(bytes == doctest::Approx(model * m.communications_per_iteration).epsilon(1e-9));
  }
}

}  // namespace

TEST_SUITE("Does every schedule finish, whatever its workers do?") {
  TEST_CASE("1,000 random configurations of each") {
    constexpr int configurations = 1000;
    unsigned seed = 100;
    for (const ScheduleRow& row : schedules()) {
      CAPTURE(row.name);
      Draws draws(++seed);
      std::vector<Point> points;
      points.reserve(configurations);
      for (int i = 0; i < configurations; ++i) points.push_back(draws.point(row));
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
