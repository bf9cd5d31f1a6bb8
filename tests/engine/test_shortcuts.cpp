#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "base/processes.hpp"
#include "study/point.hpp"
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

PointResult simulate(const Json& scenario, bool shortcuts) { return simulate_point(read_point(scenario), {.shortcuts = shortcuts}); }

/// Simulates all of them, in two processes.
std::vector<PointResult> simulate_all(const std::vector<std::pair<Json, bool>>& scenarios) {
  std::vector<PointResult> results(scenarios.size());
  run_forked(
      static_cast<int>(scenarios.size()), 2,
      [&](int i) {
        const auto& [scenario, shortcuts] = scenarios[static_cast<std::size_t>(i)];
        return simulate(scenario, shortcuts).pack();
      },
      [&](int i, const Outcome& outcome) {
        REQUIRE_MESSAGE(outcome.ok, scenarios[static_cast<std::size_t>(i)].first.dump(), outcome.error);
        results[static_cast<std::size_t>(i)] = PointResult::unpack(outcome.result);
      });
  return results;
}

/// Where messages of many sizes contend for links, each one's rate depends on when the others end, and from message to message a
/// rounding error grows. How far results move when the bandwidth changes by some of them.
double moved_by_rounding(const Json& scenario, const Metrics& from) {
  std::vector<std::pair<Json, bool>> off;
  for (const double factor : {1.0 - 4e-15, 1.0 + 4e-15, 1.0 + 1e-14}) {
    Json other = scenario;
    Json& bandwidth = other["cluster"]["link"]["bandwidth"];
    bandwidth = factor * bandwidth.get<double>();
    off.emplace_back(other, true);
    off.emplace_back(other, false);
  }
  double worst = 0.0;
  for (const PointResult& result : simulate_all(off)) worst = std::max(worst, distance(result.metrics, from));
  return worst;
}

}  // namespace

TEST_SUITE("Are shortcuts exact, and does one worker stand for all equal ones?") {
  TEST_CASE("random scenarios of every schedule in every fidelity, with and without them") {
    const bool slow = std::getenv("SYNCOPATE_SLOW") != nullptr;
    const int configurations = slow ? 220 : 45;
    unsigned seed = 700;
    int chaotic = 0;
    for (const ScheduleRow& row : schedules()) {
      RandomScenarios random(++seed);
      std::vector<std::pair<Json, bool>> scenarios;
      for (int i = 0; i < configurations; ++i) {
        Json scenario = random.draw(row);
        const bool is_partial = scenario["schedule"].value("participants", 1.0) < 1.0;
        constexpr std::array fidelities = {Fidelity::alpha_beta, Fidelity::per_message, Fidelity::flow};
        scenario["fidelity"] = to_string(fidelities[static_cast<std::size_t>(is_partial ? 0 : i % 3)]);
        if (scenario["fidelity"] != "flow") {
          for (const char* key : {"topology", "placement"}) scenario["cluster"].erase(key);
        }
        if (i % 2 == 0) scenario["workers"] = Json::object();
        scenarios.emplace_back(scenario, true);
        scenarios.emplace_back(scenario, false);
      }
      const std::vector<PointResult> results = simulate_all(scenarios);
      for (std::size_t i = 0; i < results.size(); i += 2) {
        const double apart = distance(results[i].metrics, results[i + 1].metrics);
        if (apart <= 1e-9) continue;
        ++chaotic;
        CAPTURE(scenarios[i].first.dump());
        CHECK(apart <= 100.0 * moved_by_rounding(scenarios[i].first, results[i].metrics));
      }
    }
    MESSAGE("moved by rounding errors: ", chaotic);
  }
}
