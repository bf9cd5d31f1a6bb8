#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "base/indexed.hpp"
#include "run/cost.hpp"
#include "run/limits.hpp"
#include "run/point.hpp"
#include "run/run_plan.hpp"
#include "support/random_scenario.hpp"

using namespace syncopate;
using namespace syncopate::testing;

namespace {

Json scenario_with(const Json& changes) {
  Json scenario = Json::parse(R"({
    "format": "scenario/1", "name": "estimated", "iterations": {"warmup": 2, "measured": 10},
    "trace": {"format": "trace/1", "provenance": {"kind": "synthetic"}, "model": {"name": "two", "batch": 1},
              "layers": [{"name": "a", "forward_s": 0.01, "backward_s": 0.01}, {"name": "b", "forward_s": 0.005, "backward_s": 0.005}],
              "gradients": [{"name": "b", "layer": "b", "bytes": 1000}, {"name": "a", "layer": "a", "bytes": 2000}]},
    "cluster": {"nodes": 4, "link": {"bandwidth": "10Gbps", "latency": "50us"}}})");
  scenario.update(changes, true);
  return scenario;
}

/// Of all simulated workers, as they were.
double count_steps(const Scenario& scenario) {
  Setup setup(scenario, {});
  const Timeline timeline = simulate({setup.job(scenario.fidelity.value_or(Fidelity::per_message))}, setup.network());
  const auto& workers = timeline.front().steps;
  return std::accumulate(workers.begin(), workers.end(), 0.0,
                         [](double sum, const auto& steps) { return sum + static_cast<double>(steps.size()); });
}

/// Estimated, as `check` does.
double steps_with_paces(const Scenario& scenario) {
  CostEstimate estimate(scenario);
  estimate.see_paces();
  return estimate.first().steps;
}

}  // namespace

TEST_SUITE("How much will be simulated?") {
  TEST_CASE("gradient steps, until the window has closed") {
    const Json jitter = {{"jitter", {{"distribution", "lognormal"}, {"cv", 0.1}}}};
    const Json slow = {{"slow", {{{"ranks", "1"}, {"factor", 50}}}}};
    const auto pause = [](double at, double length) {
      return Json{{"events", {{{"kind", "pause"}, {"rank", 1}, {"at_s", at}, {"for_s", length}}}}};
    };
    const Json asgd = {{"name", "asgd"}};
    const Json ad_psgd = {{"name", "ad-psgd"}};
    const Json lasgd = {{"name", "lasgd"}, {"tau_max", 3}, {"participants", 0.5}};
    const Json downpour = {{"name", "downpour"}, {"interval", 3}};
    const std::vector<Json> table = {
        {{"schedule", {{"name", "wfbp"}}}},
        {{"schedule", {{"name", "wfbp"}}}, {"workers", jitter}},
        {{"schedule", {{"name", "wfbp"}}}, {"workers", slow}},
        {{"schedule", {{"name", "wfbp"}}}, {"workers", pause(0.1, 100.0)}},
        {{"schedule", {{"name", "wfbp"}}}, {"cluster", {{"nodes", 1}}}},
        {{"schedule", {{"name", "dts"}, {"delay", 5}, {"period", 6}}}},
        {{"schedule", {{"name", "dts"}, {"delay", 5}, {"period", 6}}}, {"workers", jitter}},
        {{"schedule", {{"name", "ssd-sgd"}, {"delay", 3}, {"warmup_iterations", 7}}}, {"workers", jitter}},
        {{"schedule", asgd}, {"workers", jitter}},
        {{"schedule", asgd}, {"workers", slow}},
        {{"schedule", asgd}, {"workers", pause(0.0, 100.0)}},
        {{"schedule", asgd},
         {"workers", pause(0.0, 100.0)},
         {"cluster", {{"nodes", 2}, {"gpus_per_node", 2}, {"intra_node", {{"bandwidth", "10GBps"}, {"latency", 0}}}}}},
        {{"schedule", asgd}, {"workers", pause(0.2, 100.0)}},
        {{"schedule", asgd}, {"workers", pause(0.0, 100.0)}, {"cluster", {{"link", {{"bandwidth", 2e4}}}}}},
        {{"schedule", downpour}, {"workers", pause(0.0, 100.0)}},
        {{"schedule", ad_psgd}, {"workers", pause(0.0, 100.0)}},
        {{"schedule", ad_psgd}, {"workers", slow}},
        {{"schedule", lasgd}, {"workers", pause(0.0, 100.0)}},
        {{"schedule", lasgd}, {"workers", slow}},
        {{"schedule", {{"name", "wfbp"}}}, {"cluster", {{"link", {{"latency_jitter", {{"distribution", "lognormal"}, {"cv", 0.2}}}}}}}},
        {{"schedule", {{"name", "wfbp"}}}, {"all_reduce", "binary-tree"}},
        {{"schedule", {{"name", "wfbp"}}}, {"all_reduce", "recursive-doubling"}},
        {{"schedule", {{"name", "wfbp"}}}, {"all_reduce", "recursive-doubling"}, {"cluster", {{"nodes", 6}}}},
        {{"schedule", {{"name", "wfbp"}}}, {"fidelity", "flow"}},
        {{"schedule", {{"name", "ps-sgd"}}}},
        {{"schedule", {{"name", "ps-sgd"}, {"service", "fifo"}}}},
        {{"schedule", {{"name", "ps-sgd"}, {"colocated", true}, {"servers", 3}}}},
        {{"schedule", {{"name", "ps-sgd"}}}, {"cluster", {{"topology", {{"name", "fat-tree"}, {"k", 4}}}}}},
    };
    for (const Json& changes : table) {
      CAPTURE(changes.dump());
      const Point point = read_point(scenario_with(changes));
      const double steps = count_steps(point.scenario);
      const double estimate = estimate_cost(point.scenario).steps;
      CHECK(estimate >= 0.5 * steps);
      CHECK(estimate <= 2.0 * steps);
      // Of those that wait for each other, each may have ended the step in which the window closed, or not.
      if (point.scenario.schedule.waits_for_slowest()) CHECK(std::abs(estimate - steps) <= point.scenario.cluster.workers());
    }
  }

  TEST_CASE("the plan without a simulation is what the simulation does") {
    CHECK(holds("fidelity, its note, workers, steps and collectives", [] {
      const auto rows = static_cast<int>(schedules().size());
      Json json = draw_scenario(schedules()[at(*rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, rows)))]);
      if (*rc::gen::arbitrary<bool>()) json.erase("workers");
      if (*rc::gen::arbitrary<bool>()) json["fidelity"] = "auto";
      const Point point = read_point(json);
      const RunPlan plan = plan_of(point.scenario, {});
      Setup setup(point.scenario, {});
      const RunPlan simulated_plan = plan_of(setup);
      const Timeline timeline = simulate({setup.job(simulated_plan.fidelity)}, setup.network());
      const JobTimeline& run = timeline.front();
      RC_ASSERT(plan.fidelity == simulated_plan.fidelity);
      RC_ASSERT(plan.note == simulated_plan.note);
      RC_ASSERT(at(plan.simulated) == run.steps.size());
      const double steps = std::accumulate(run.steps.begin(), run.steps.end(), 0.0,
                                           [](double sum, const auto& worker) { return sum + static_cast<double>(worker.size()); });
      if (!point.scenario.schedule.waits_for_slowest() || point.scenario.schedule.pace.steps_per_round > 0) {
        const double estimate = steps_with_paces(point.scenario);
        RC_ASSERT(estimate >= steps / 3.0);
        RC_ASSERT(estimate <= 3.0 * steps);
        return;
      }
      RC_ASSERT(plan.counts.steps >= 0.5 * steps);
      RC_ASSERT(plan.counts.steps <= 2.0 * steps + plan.ranks);
      const auto collectives = static_cast<double>(run.collectives.size());
      RC_ASSERT(plan.counts.collectives >= 0.3 * collectives);
      RC_ASSERT(plan.counts.collectives <= 3.0 * collectives + 3.0);
    }));
  }

  TEST_CASE("of rounds that end before they have all their steps") {
    const Point point = read_point(scenario_with({{"schedule", {{"name", "lasgd"}, {"tau_max", 5}}}}));
    const double steps = count_steps(point.scenario);
    const double estimate = steps_with_paces(point.scenario);
    CHECK(estimate_cost(point.scenario).steps == 60.0);  // by formulas
    CHECK(steps < 60.0);
    CHECK(estimate >= 0.5 * steps);
    CHECK(estimate <= 2.0 * steps);
  }

  TEST_CASE("and how many at a time fit in memory") {
    const std::vector<Bytes> simulations = {Bytes(1), Bytes(5), Bytes(2), Bytes(4)};
    CHECK(count_fitting(simulations, 8, Bytes(12)) == 8);
    CHECK(count_fitting(simulations, 3, Bytes(12)) == 3);
    CHECK(count_fitting(simulations, 3, Bytes(10)) == 2);
    CHECK(count_fitting(simulations, 3, Bytes(8)) == 1);
    CHECK(count_fitting(simulations, 3, Bytes(1)) == 1);
    CHECK(count_fitting({}, 3, Bytes(1)) == 3);
  }
}
