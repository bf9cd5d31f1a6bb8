#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"
#include "base/indexed.hpp"
#include "base/processes.hpp"
#include "run/point.hpp"
#include "schedule/schedules.hpp"
#include "support/random_scenario.hpp"

using namespace syncopate;
using namespace syncopate::testing;

namespace {

/// Each scenario in a process of its own: SimGrid keeps the settings of the first.
std::vector<Metrics> in_two_processes(const std::vector<Json>& scenarios) {
  std::vector<Metrics> results(scenarios.size());
  run_forked(
      static_cast<int>(scenarios.size()), 2,
      [&](int i) { return simulate_point(read_point(scenarios[at(i)]), {.shortcuts = false}).pack(); },
      [&](int i, const Outcome& outcome) {
        if (!outcome.ok) throw Error(outcome.code, outcome.error);
        results[at(i)] = PointResult::unpack(outcome.result).metrics;
      });
  return results;
}

}  // namespace

TEST_SUITE("Does SimGrid, with links without latency, take the times of our flows?") {
  // The only test in which a message of any schedule is a communication of SimGrid: it finds what is lost, counted twice or told too late
  // between the two clocks.
  TEST_CASE("random scenarios of every schedule") {
    for (const ScheduleRow& row : schedules()) {
      CHECK(holds(fmt::format("{} takes as long", row.name), [&row] {
        Json scenario = draw_scenario(row);
        constexpr int most_draws = 100;  // shrinking draws alpha-beta for ever
        for (int draws = 0; scenario["fidelity"] != "flow" && draws < most_draws; ++draws) scenario = draw_scenario(row);
        RC_PRE(scenario["fidelity"] == "flow");
        Json in_simgrid = scenario;
        in_simgrid["fidelity"] = "simgrid";
        in_simgrid["simgrid"] = {{"fair", true}};
        RC_LOG(in_simgrid.dump());
        const std::vector<Metrics> results = in_two_processes({scenario, in_simgrid});
        const double apart = distance(results[0], results[1]);
        if (apart <= 1e-9) return;
        RC_LOG(fmt::format("apart by {}", apart));
        double moved = 0.0;
        for (const Metrics& with_errors : in_two_processes(with_rounding_errors(scenario)))
          moved = std::max(moved, distance(with_errors, results[0]));
        RC_ASSERT(apart <= 100.0 * moved);
      }));
    }
  }
}
