#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/errors.hpp"
#include "base/indexed.hpp"
#include "base/processes.hpp"
#include "engine/clock/actors.hpp"
#include "run/path_shares.hpp"
#include "run/point.hpp"
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

/// With and without shortcuts, in two processes at a time.
std::vector<Metrics> simulate_all(const std::vector<Json>& scenarios) {
  std::vector<Metrics> results(2 * scenarios.size());
  actors();  // loaded once, for all processes
  run_forked(
      static_cast<int>(results.size()), 2,
      [&](int i) { return simulate_point(read_point(scenarios[static_cast<std::size_t>(i / 2)]), {.shortcuts = i % 2 == 0}).pack(); },
      [&](int i, const Outcome& outcome) {
        if (!outcome.ok) throw Error(outcome.code, outcome.error);
        results[static_cast<std::size_t>(i)] = PointResult::unpack(outcome.result).metrics;
      },
      {}, can_run_actors);
  return results;
}

/// How far results, with shortcuts and without, move with rounding errors.
double moved_by_rounding(const Json& scenario, const std::vector<Metrics>& from) {
  const std::vector<Metrics> moved = simulate_all(with_rounding_errors(scenario));
  double worst = 0.0;
  for (std::size_t i = 0; i < moved.size(); ++i) worst = std::max(worst, distance(moved[i], from[i % 2]));
  return worst;
}

/// A scenario in three runs: with its critical path, and perhaps a timeline; plainly; and without shortcuts, with its critical path.
enum Variant { explained, plain, in_full, all_runs };

std::vector<PointResult> simulate_thrice(const Json& scenario, bool draws_timeline) {
  std::vector<PointResult> results(all_runs);
  actors();
  const auto options = [draws_timeline](int run) {
    PointOptions wanted = {.shortcuts = run != in_full, .explain = run != plain};
    if (run == explained && draws_timeline) wanted.timeline.emplace();
    return wanted;
  };
  run_forked(
      all_runs, 2, [&](int run) { return simulate_point(read_point(scenario), options(run)).pack(); },
      [&](int run, const Outcome& outcome) {
        if (!outcome.ok) throw Error(outcome.code, outcome.error);
        results[at(run)] = PointResult::unpack(outcome.result);
      },
      {}, can_run_actors);
  return results;
}

double sum_of(const std::vector<PathShare>& shares) {
  return std::accumulate(shares.begin(), shares.end(), 0.0, [](double sum, const PathShare& share) { return sum + share.seconds.value; });
}

/// The pieces of the critical path add up to the iteration.
void check_path(const PointResult& result) {
  const double iteration = result.metrics.iteration.value;
  const std::vector<PathShare> shares = path_shares_of(result.details["path"]);
  RC_ASSERT(std::abs(sum_of(shares) - iteration) <= 1e-9 * iteration);
  for (const PathShare& share : shares) RC_ASSERT(share.kind == "jitter" || share.seconds.value >= -1e-9 * iteration);
}

/// Shortcuts change nothing but, where flows contend, what rounding errors change too.
void check_shortcuts(const Json& scenario, const Metrics& with, const Metrics& without) {
  const double apart = distance(with, without);
  if (apart <= 1e-9) return;
  RC_ASSERT(scenario["fidelity"] == "flow");
  RC_ASSERT(apart <= 100.0 * moved_by_rounding(scenario, {with, without}));
}

}  // namespace

TEST_SUITE("Does every schedule finish, do its figures and its critical path add up, and are shortcuts exact?") {
  TEST_CASE("random scenarios of every schedule in every fidelity") {
    for (const ScheduleRow& row : schedules()) {
      CHECK(holds(fmt::format("{} finishes and adds up, with and without shortcuts", row.name), [&row] {
        Json scenario = draw_scenario(row);
        if (*rc::gen::arbitrary<bool>()) scenario["workers"] = Json::object();
        RC_LOG(scenario.dump());
        const bool draws_timeline = scenario["seed"].get<int>() % 10 == 0;
        const std::vector<PointResult> results = simulate_thrice(scenario, draws_timeline);
        check_result(read_point(scenario), results[plain].metrics, scenario["schedule"].contains("compression"));
        RC_ASSERT(results[explained].metrics.iteration == results[plain].metrics.iteration);
        RC_ASSERT(results[explained].timeline.empty() != draws_timeline);
        check_path(results[explained]);
        check_path(results[in_full]);
        check_shortcuts(scenario, results[plain].metrics, results[in_full].metrics);
      }));
    }
  }
}
