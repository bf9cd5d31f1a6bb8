#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/errors.hpp"
#include "base/processes.hpp"
#include "engine/clock/actors.hpp"
#include "explain/explanation.hpp"
#include "run/path_shares.hpp"
#include "run/point.hpp"
#include "support/random_scenario.hpp"

using namespace syncopate;
using namespace syncopate::testing;

namespace {

/// With causes recorded, and perhaps a timeline, without, and with every worker simulated in full, too.
std::vector<PointResult> simulate_thrice(const Json& scenario, bool draws_timeline) {
  std::vector<PointResult> results(3);
  actors();
  const auto options = [draws_timeline](int i) {
    PointOptions its = {.shortcuts = i < 2, .explain = i != 1};
    if (i == 0 && draws_timeline) its.timeline.emplace();
    return its;
  };
  run_forked(
      3, 2, [&](int i) { return simulate_point(read_point(scenario), options(i)).pack(); },
      [&](int i, const Outcome& outcome) {
        if (!outcome.ok) throw Error(outcome.code, outcome.error);
        results[static_cast<std::size_t>(i)] = PointResult::unpack(outcome.result);
      },
      {}, can_run_actors);
  return results;
}

double sum_of(const std::vector<PathShare>& shares) {
  return std::accumulate(shares.begin(), shares.end(), 0.0, [](double sum, const PathShare& share) { return sum + share.seconds.value; });
}

}  // namespace

TEST_SUITE("Does the critical path explain every second?") {
  TEST_CASE("random scenarios of every schedule in every fidelity") {
    for (const ScheduleRow& row : schedules()) {
      CHECK(holds(fmt::format("the pieces of {}'s path add up to its iteration", row.name), [&row] {
        const Json scenario = draw_scenario(row);
        RC_LOG(scenario.dump());
        const bool draws_timeline = scenario["seed"].get<int>() % 10 == 0;
        const std::vector<PointResult> results = simulate_thrice(scenario, draws_timeline);
        RC_ASSERT(results[0].metrics.iteration == results[1].metrics.iteration);
        RC_ASSERT(results[0].timeline.empty() != draws_timeline);
        for (const std::size_t i : {0U, 2U}) {
          const double iteration = results[i].metrics.iteration.value;
          const std::vector<PathShare> shares = path_shares_of(results[i].details["path"]);
          RC_ASSERT(std::abs(sum_of(shares) - iteration) <= 1e-9 * iteration);
          for (const PathShare& share : shares) RC_ASSERT(share.kind == "jitter" || share.seconds.value >= -1e-9 * iteration);
        }
      }));
    }
  }

  TEST_CASE("an explanation takes no longer than it may") {
    Json scenario = {
        {"format", "scenario/1"},
        {"name", "endless"},
        {"trace",
         {{"format", "trace/1"},
          {"provenance", {{"kind", "synthetic"}}},
          {"model", {{"name", "one"}, {"batch", 1}}},
          {"layers", {{{"name", "l"}, {"forward_s", 0.001}, {"backward_s", 0.001}}}},
          {"gradients", {{{"name", "g"}, {"layer", "l"}, {"bytes", 1000}}}}}},
        {"cluster", {{"format", "cluster/1"}, {"name", "small"}, {"nodes", 2}, {"link", {{"bandwidth", "1Gbps"}, {"latency", "1ms"}}}}},
        {"workers", {{"jitter", {{"distribution", "uniform"}, {"cv", 0.1}}}}},
        {"schedule", {{"name", "wfbp"}}},
        {"iterations", {{"warmup", 0}, {"measured", 1}}}};
    const auto within = [](Seconds time) { return Limits{.memory = Bytes(1e15), .time = time}; };
    const auto never = [] { return false; };
    const auto ignore = [](std::size_t /*done*/, std::size_t /*all*/) {};
    const Point brief = read_point(scenario);
    Explained explained = explain({&brief}, 1, never, within(Seconds(60))).front();
    scenario["iterations"]["measured"] = 10'000'000;
    const Point endless = read_point(scenario);
    CHECK_THROWS_WITH_AS(explain({&endless}, 1, never, within(Seconds(0.3))), doctest::Contains("point 0: not done after 300 ms"),
                         SimulationError);
    explained.point = &endless;
    explained.path.clear();
    const std::vector<WhatIf> what_if = ask_what_if(explained, {0.1}, 2, ignore, never, within(Seconds(0.1)));
    REQUIRE(what_if.size() > 5);
    for (const WhatIf& one : what_if) {
      const Effect& effect = one.effects.front();
      if (!effect.iteration) CHECK(effect.error.starts_with("not done after 100 ms"));
    }
    CHECK(std::any_of(what_if.begin(), what_if.end(), [](const WhatIf& one) { return !one.effects.front().iteration; }));
  }
}
