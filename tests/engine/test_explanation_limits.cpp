#include <doctest/doctest.h>

#include <algorithm>

#include "base/errors.hpp"
#include "explain/explanation.hpp"
#include "run/point.hpp"
#include "support/random_scenario.hpp"

using namespace syncopate;
using namespace syncopate::testing;

TEST_SUITE("Is an explanation ended when it takes too long?") {
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
