#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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
    case Jitter::Distribution::exponential: return 1.0 - speed.jitter.cv;
    case Jitter::Distribution::lognormal: return speed.jitter.cv == 0.0 ? 1.0 : 0.0;
    case Jitter::Distribution::empirical: return 0.5;
  }
  return 0.0;
}

bool are_close(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

/// `compressed`: what is sent is not the model.
void check_result(const Point& point, const Metrics& m, bool compressed) {
  const StepProfile profile = step_profile(*point.scenario.trace, point.scenario.granularity);
  const double compute = least_factor(point.scenario.speed) * (profile.forward + profile.backward).value +
                         (m.compute - profile.forward - profile.backward).value;
  const bool abandons_steps = point.scenario.schedule.traffic.servers && point.scenario.schedule.traffic.servers->backup > 0;
  if (!abandons_steps) RC_ASSERT(m.iteration.value >= compute * (1 - 1e-9));
  RC_ASSERT(are_close((m.compute + m.wait + m.exposed_communication).value, m.iteration.value));
  RC_ASSERT(m.exposed_communication.value >= 0.0);
  RC_ASSERT(m.communication.value <= m.iteration.value * (1 + 1e-9));
  RC_ASSERT(m.staleness_max >= m.staleness_mean * (1 - 1e-12));

  if (compressed) return;
  const std::string& name = point.scenario.schedule.name;
  const double model = profile.bytes().value;
  const double bytes = m.bytes_per_worker_per_iteration.value;
  const auto groups_everything = [&] {
    return std::any_of(groupings().begin(), groupings().end(), [&](const GroupingRow& row) { return row.name == name; });
  };
  if (abandons_steps) {
    RC_ASSERT(bytes >= model * (1 - 1e-9));  // what is pulled
  } else if (name == "ps-sgd" || name == "asgd" || name == "dc-asgd") {
    RC_ASSERT(are_close(bytes, 2 * model));
  } else if (name == "ssd-sgd") {
    RC_ASSERT(bytes >= model * (1 - 1e-9));
    RC_ASSERT(bytes <= 2 * model * (1 + 1e-9));
  } else if (name == "dts") {
    RC_ASSERT(bytes <= model * m.communications_per_iteration * 5);  // an index of up to 8 bytes for every value of 2 at most
  } else if (groups_everything()) {
    if (point.scenario.schedule.pace.cycle == 1) RC_ASSERT(are_close(bytes, model));
    RC_ASSERT(bytes <= model * (1 + 1e-9));
  } else if (point.scenario.schedule.traffic.peers || name == "lasgd" || name == "sasgd" || name == "local-sgd" || name == "downpour" ||
             name == "eamsgd") {
    RC_ASSERT(are_close(bytes, model * m.communications_per_iteration));
  }
}

}  // namespace

TEST_SUITE("Does every schedule finish, whatever its workers do?") {
  TEST_CASE("random scenarios of each") {
    for (const ScheduleRow& row : schedules()) {
      CHECK(holds(fmt::format("{} finishes, and its figures fit together", row.name), [&row] {
        const Json scenario = draw_scenario(row);
        RC_LOG(scenario.dump());
        const Point point = read_point(scenario);
        check_result(point, simulate_point(point).metrics, scenario["schedule"].contains("compression"));
      }));
    }
  }
}
