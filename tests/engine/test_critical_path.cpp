#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "base/errors.hpp"
#include "base/processes.hpp"
#include "engine/actors.hpp"
#include "study/path_shares.hpp"
#include "study/point.hpp"
#include "support/random_scenario.hpp"

using namespace syncopate;
using namespace syncopate::testing;

namespace {

/// With causes recorded, without, and with every worker simulated in full, too.
std::vector<PointResult> simulate_thrice(const Json& scenario) {
  std::vector<PointResult> results(3);
  actors();
  run_forked(
      3, 2, [&](int i) { return simulate_point(read_point(scenario), {.shortcuts = i < 2, .explain = i != 1}).pack(); },
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
        const std::vector<PointResult> results = simulate_thrice(scenario);
        RC_ASSERT(results[0].metrics.iteration == results[1].metrics.iteration);
        for (const std::size_t i : {0U, 2U}) {
          const double iteration = results[i].metrics.iteration.value;
          const std::vector<PathShare> shares = path_shares_of(results[i].details["path"]);
          RC_ASSERT(std::abs(sum_of(shares) - iteration) <= 1e-9 * iteration);
          for (const PathShare& share : shares) RC_ASSERT(share.kind == "jitter" || share.seconds.value >= -1e-9 * iteration);
        }
      }));
    }
  }
}
