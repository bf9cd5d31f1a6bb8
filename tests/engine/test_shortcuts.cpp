#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/errors.hpp"
#include "base/processes.hpp"
#include "engine/clock/actors.hpp"
#include "run/point.hpp"
#include "support/random_scenario.hpp"

using namespace syncopate;
using namespace syncopate::testing;

namespace {

/// How far two results are from each other, relative to the iteration.
double distance(const Metrics& a, const Metrics& b) {
  double worst = 0.0;
  const auto see = [&](Seconds x, Seconds y) { worst = std::max(worst, std::abs((x - y).value) / a.iteration.value); };
  see(a.iteration, b.iteration);
  see(a.iteration_p50, b.iteration_p50);
  see(a.iteration_p95, b.iteration_p95);
  see(a.compute, b.compute);
  see(a.wait, b.wait);
  see(a.exposed_communication, b.exposed_communication);
  see(a.communication, b.communication);
  return worst;
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

/// Where flows of many sizes contend for links, each one's rate depends on when the others end, and from flow to flow an error grows.
/// How far results, with shortcuts and without, move with rounding errors of the bandwidth, and with tiny ones of times.
double moved_by_rounding(const Json& scenario, const std::vector<Metrics>& from) {
  std::vector<Json> off;
  const auto move = [&](const char* what, double factor, double more) {
    off.push_back(scenario);
    Json& value = off.back()["cluster"]["link"][what];
    value = factor * value.get<double>() + more;
  };
  for (const double factor : {1.0 - 4e-15, 1.0 + 4e-15, 1.0 + 1e-14}) move("bandwidth", factor, 0.0);
  for (const double more : {1e-12, 2e-12}) move("latency", 1.0, more);
  const std::vector<Metrics> moved = simulate_all(off);
  double worst = 0.0;
  for (std::size_t i = 0; i < moved.size(); ++i) worst = std::max(worst, distance(moved[i], from[i % 2]));
  return worst;
}

}  // namespace

TEST_SUITE("Are shortcuts exact, and does one worker stand for all equal ones?") {
  TEST_CASE("random scenarios of every schedule in every fidelity, with and without them") {
    for (const ScheduleRow& row : schedules()) {
      CHECK(holds(fmt::format("{} gives the same with and without shortcuts", row.name), [&row] {
        Json scenario = draw_scenario(row);
        if (*rc::gen::arbitrary<bool>()) scenario["workers"] = Json::object();
        RC_LOG(scenario.dump());
        const std::vector<Metrics> results = simulate_all({scenario});
        const double apart = distance(results[0], results[1]);
        if (apart <= 1e-9) return;
        RC_ASSERT(scenario["fidelity"] == "flow");
        RC_ASSERT(apart <= 100.0 * moved_by_rounding(scenario, results));
      }));
    }
  }
}
