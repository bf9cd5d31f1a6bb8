#include <doctest/doctest.h>

#include <cmath>

#include "metrics/confidence.hpp"
#include "output/answer.hpp"
#include "output/standing.hpp"

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
    CHECK(standing(row(1.43, 0.3), row(1.0, 0.3)) == Standing::slower);
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

  TEST_CASE("staleness has no exponent") {
    Row stale = row(1.0);
    stale.metrics.staleness_mean = 128.4;
    stale.metrics.staleness_max = 300.0;
    CHECK(with_staleness("asgd", stale) == "asgd (staleness 128)");
  }
}
