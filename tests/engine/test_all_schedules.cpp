#include <doctest/doctest.h>

#include <cmath>

#include "base/processes.hpp"
#include "schedule/grouping.hpp"
#include "schedule/schedules.hpp"
#include "support/random_point.hpp"
#include "support/random_scenario.hpp"

using namespace syncopate;
using namespace syncopate::testing;

namespace {

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
      RandomScenarios random(++seed);
      std::vector<Point> points;
      points.reserve(configurations);
      for (int i = 0; i < configurations; ++i) points.push_back(read_point(random.draw(row)));
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
