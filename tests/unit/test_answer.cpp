#include <doctest/doctest.h>

#include <cmath>

#include "metrics/confidence.hpp"
#include "output/answer.hpp"
#include "output/row_names.hpp"
#include "output/standing.hpp"
#include "output/swept_effects.hpp"

using namespace syncopate;

namespace {

Row row(double iteration, double half_width = 0.0) {
  Row result;
  result.metrics.iteration = Seconds(iteration);
  if (half_width > 0.0) result.interval = {Seconds(iteration - half_width), Seconds(iteration + half_width)};
  return result;
}

Row mean(const std::vector<double>& replicates) {
  Row result = row(describe(replicates).mean, half_width(replicates));
  for (const double seconds : replicates) result.replicates.emplace_back(seconds);
  return result;
}

/// Points of every swept value, the last pointer varying fastest, and their rows, which take so many seconds; 0: it failed.
struct Sweep {
  Study study;
  std::vector<Row> rows;

  void add(std::vector<std::pair<std::string, Json>> values, int workers, double iteration) {
    Point point;
    point.index = static_cast<int>(study.points.size());
    point.sweep = values;
    study.points.push_back(point);
    if (iteration == 0.0) return;
    Row result = row(iteration);
    result.point = point.index;
    result.sweep = std::move(values);
    result.cluster = "small";
    result.nodes = result.workers = workers;
    result.metrics.compute = Seconds(iteration);
    result.metrics.efficiency = 1.0;
    result.metrics.throughput = workers / iteration;
    result.batch = 1;
    rows.push_back(result);
  }

  void add_schedules(const std::string& pointer, const Json& value, int workers,
                     const std::vector<std::pair<std::string, double>>& schedules) {
    for (const auto& [name, iteration] : schedules) add({{pointer, value}, {"/schedule/name", name}}, workers, iteration);
  }

  std::vector<std::string> answer() const { return syncopate::answer(rows, study); }
};

}  // namespace

TEST_SUITE("Is the fastest choice named where the rows can tell it, and only there?") {
  TEST_CASE("it is the interval of the difference that decides") {
    CHECK(standing(row(1.005), row(1.0)) == Standing::equal);
    CHECK(standing(row(1.0051), row(1.0)) == Standing::slower);
    CHECK(standing(row(1.4, 0.3), row(1.0, 0.3)) == Standing::undecided);
    CHECK(standing(row(1.43, 0.3), row(1.0, 0.3)) == Standing::undecided);  // ln 1.43 = 0.358 against 0.366
    CHECK(standing(row(1.45, 0.3), row(1.0, 0.3)) == Standing::slower);     // ln 1.45 = 0.372 against 0.364
    CHECK(standing(row(540.0, 640.0), row(1.0)) == Standing::slower);
    CHECK(standing(row(1.25, 0.3), row(1.0)) == Standing::undecided);
    CHECK(standing(row(1.004, 0.5), row(1.0, 0.5)) == Standing::equal);
  }

  TEST_CASE("replicates are compared pair by pair") {
    const Row noisy = mean({1.0, 9.0, 5.0});
    CHECK(standing(mean({1.5, 9.5, 5.5}), noisy) == Standing::slower);
    CHECK(standing(mean({1.5, 9.6, 5.55}), noisy) == Standing::slower);
    CHECK(standing(mean({5.5, 1.5, 9.5}), noisy) == Standing::undecided);
    CHECK(standing(mean({2.0, 10.0}), noisy) == Standing::undecided);
    CHECK(standing(mean({4.0, 54.0}), mean({2.5, 2.7})) == Standing::undecided);
    CHECK(standing(mean({1.1, 1.2, 1.3}), row(1.0)) == Standing::undecided);
    CHECK(standing(mean({1.3, 1.4, 1.35}), row(1.0)) == Standing::slower);
    CHECK(standing(row(1.3), mean({1.0, 1.0, 1.0})) == Standing::slower);
  }

  TEST_CASE("how many values are needed considers Student's t and the limit") {
    CHECK(half_width(std::vector{1.0, 2.0, 3.0}) == doctest::Approx(4.30265273 / std::sqrt(3.0)));
    CHECK(values_needed(12.70620474 / std::sqrt(2.0), 2, 2.77644511 / std::sqrt(5.0), 1000) == 5);
    CHECK(values_needed(12.70620474 / std::sqrt(2.0), 2, 2.776 / std::sqrt(5.0), 1000) == 6);
    CHECK_FALSE(values_needed(12.70620474 / std::sqrt(2.0), 2, 0.06, 1000));
    CHECK_FALSE(values_needed(1.0, 3, 0.5, 1));
  }

  TEST_CASE("a contest says which rivals are missing") {
    Sweep sweep;
    for (const auto& [name, iteration] : {std::pair("wfbp", 1.0), std::pair("s-sgd", 2.0), std::pair("asgd", 0.0)}) {
      sweep.add({{"/schedule/name", name}}, 4, iteration);
    }
    CHECK(sweep.answer() ==
          std::vector<std::string>{"On 4 x small, where 1 of 3 choices is missing, wfbp is fastest: 1 s per iteration, at 100% efficiency; "
                                   "nothing holds it back: 100% of it is compute. Next comes s-sgd, which takes 2 times as long."});
    sweep.rows.pop_back();
    CHECK(sweep.answer() ==
          std::vector<std::string>{"wfbp takes 1 s per iteration on 4 x small, at 100% efficiency; nothing holds it back: 100% of it is "
                                   "compute; 2 of 3 points are missing."});
  }

  TEST_CASE("of several contests the largest that has a winner is the example, and there the one where the choice matters most") {
    Sweep sweep;
    sweep.add_schedules("/cluster/link/latency", "1us", 8, {{"wfbp", 1.0}, {"s-sgd", 1.1}});
    sweep.add_schedules("/cluster/link/latency", "9us", 8, {{"wfbp", 1.0}, {"s-sgd", 3.0}});
    sweep.add_schedules("/cluster/link/latency", "5us", 8, {{"wfbp", 1.0}, {"s-sgd", 2.0}});
    sweep.add_schedules("/cluster/link/latency", "7us", 16, {{"wfbp", 1.0}, {"s-sgd", 1.0}});
    sweep.add_schedules("/cluster/link/latency", "2us", 4, {{"wfbp", 1.0}, {"s-sgd", 9.0}});
    const auto told = sweep.answer();
    REQUIRE(told.size() == 2);
    CHECK(told[0] == "Fastest, or as fast as the fastest, of 5 settings: wfbp in 5, s-sgd in 1.");
    CHECK(told[1].starts_with("For example: On 8 x small (latency 9us), wfbp is fastest: "));
    sweep.add_schedules("/cluster/link/latency", "3us", 4, {{"wfbp", 1.0}, {"s-sgd", 0.0}});
    CHECK(sweep.answer()[0] == "Fastest, or as fast as the fastest, of 6 settings: wfbp in 6, s-sgd in 1; 1 of 12 points is missing.");
  }

  TEST_CASE("a contest's sentence is followed by what swept numbers do") {
    Sweep sweep;
    sweep.add_schedules("/cluster/link/bandwidth", "10Gbps", 8, {{"wfbp", 3.0}, {"s-sgd", 4.0}});
    sweep.add_schedules("/cluster/link/bandwidth", "100Gbps", 8, {{"wfbp", 2.5}, {"s-sgd", 2.0}});
    CHECK(sweep.answer().back() == "On 8 x small, s-sgd is 2 times as fast with bandwidth 100Gbps as with 10Gbps.");
    CHECK(sweep.answer().size() == 3);
  }

  TEST_CASE("staleness has no exponent") {
    Row stale = row(1.0);
    stale.metrics.staleness_mean = 128.4;
    stale.metrics.staleness_max = 300.0;
    CHECK(with_staleness("asgd", stale) == "asgd (staleness 128)");
  }
}

TEST_SUITE("What do swept numbers do?") {
  /// One row for each value of a swept key.
  std::vector<Row> along(const std::string& pointer, const std::vector<std::pair<Json, double>>& iterations) {
    std::vector<Row> rows;
    for (const auto& [value, iteration] : iterations) {
      Row one = row(iteration);
      one.sweep = {{pointer, value}};
      one.schedule = "wfbp";
      one.cluster = "small";
      one.nodes = one.workers = 4;
      one.batch = 32;
      rows.push_back(one);
    }
    return rows;
  }

  TEST_CASE("the largest value is compared with the smallest, in whatever order and unit they are") {
    CHECK(swept_effects(along("/cluster/link/latency", {{"1ms", 3.0}, {"1us", 1.0}, {"50us", 9.0}})) ==
          std::vector<std::string>{"On 4 x small, wfbp takes 3 times as long with latency 1ms as with 1us."});
    CHECK(swept_effects(along("/schedule/bucket", {{"900kB", 3.0}, {"25MB", 1.5}})) ==
          std::vector<std::string>{"On 4 x small, wfbp is 2 times as fast with bucket 25MB as with 900kB."});
  }

  TEST_CASE("what is no property of the training has no effect, nor what is no number or one value") {
    for (const char* pointer : {"/seed", "/replicates", "/cluster/nodes", "/iterations/measured"}) {
      CHECK(swept_effects(along(pointer, {{1, 1.0}, {2, 3.0}})).empty());
    }
    CHECK(swept_effects(along("/x", {{"tensor", 1.0}, {4, 3.0}})).empty());
    CHECK(swept_effects(along("/x", {{4, 1.0}, {4.0, 3.0}})).empty());
    CHECK(swept_effects({}).empty());
  }

  TEST_CASE("what is within the uncertainty is not said") {
    auto rows = along("/x", {{1, 1.3}, {2, 1.0}});
    CHECK(swept_effects(rows).size() == 1);
    for (Row& one : rows) one.interval = {one.metrics.iteration - Seconds(0.25), one.metrics.iteration + Seconds(0.25)};
    CHECK(swept_effects(rows).empty());
    CHECK(swept_effects(along("/x", {{1, 1.004}, {2, 1.0}})).empty());
    rows = along("/x", {{1, 1.3}, {2, 1.0}});
    rows.front().is_sample = true;
    CHECK(swept_effects(rows).empty());
  }

  TEST_CASE("where a step has other samples it is they that count") {
    auto rows = along("/x", {{32, 1.0}, {64, 1.6}});
    rows.back().batch = 64;
    CHECK(swept_effects(rows) ==
          std::vector<std::string>{"On 4 x small, wfbp trains 1.25 times as many samples per second with x 64 as with 32."});
    rows.back().metrics.iteration = Seconds(2.0);
    CHECK(swept_effects(rows).empty());
  }

  TEST_CASE("of the links' bandwidth the busiest one carries a part") {
    auto rows = along("/cluster/link/bandwidth", {{"8Gbps", 2.0}, {"16Gbps", 1.0}});
    const auto is_busy = [&rows](double bandwidth, double utilisation) {
      rows.back().details["links"] = {{{"name", "node-0 up"}, {"bandwidth_Bps", bandwidth}, {"utilisation", utilisation}}};
    };
    is_busy(2e9, 0.25);
    CHECK(swept_effects(rows) == std::vector<std::string>{"On 4 x small, wfbp is 2 times as fast with bandwidth 16Gbps as with 8Gbps; of "
                                                          "16Gbps, its busiest link carries 500 MB/s (25%)."});
    is_busy(2e9, 1.25);
    CHECK(swept_effects(rows).front().ends_with("of 16Gbps, its busiest link would have to carry 2.5 GB/s (125%)."));
    is_busy(1e8, 0.7);
    CHECK(swept_effects(rows).front().ends_with("bandwidth 16Gbps as with 8Gbps."));
  }

  TEST_CASE("the fastest with most nodes is compared, if its other end has a result") {
    std::vector<Row> rows;
    const auto add = [&rows](int nodes, const char* schedule, int value, double iteration) {
      Row one = along("/x", {{value, iteration}}).front();
      one.sweep = {{"/cluster/nodes", nodes}, {"/schedule/name", schedule}, {"/x", value}};
      one.nodes = one.workers = nodes;
      one.metrics.throughput = nodes * 32 / iteration;
      rows.push_back(one);
    };
    add(8, "wfbp", 2, 3.0);
    add(4, "wfbp", 2, 2.0);
    add(4, "wfbp", 1, 9.0);
    add(8, "s-sgd", 2, 2.0);
    add(8, "wfbp", 1, 9.0);
    CHECK(swept_effects(rows).empty());
    add(8, "s-sgd", 1, 5.0);
    CHECK(swept_effects(rows) == std::vector<std::string>{"On 8 x small, s-sgd is 2.5 times as fast with x 2 as with 1."});
  }
}
