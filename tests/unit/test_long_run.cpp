#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "base/errors.hpp"
#include "goodput/checkpoint_interval.hpp"
#include "goodput/long_run.hpp"

using namespace syncopate;

namespace {

constexpr Seconds hour(3600.0);
constexpr Seconds day(86400.0);

/// A step a second, whatever is left; a sample of each node in it.
TrainingSpeed steady(int nodes) { return {Seconds(1.0), static_cast<double>(nodes)}; }

LongRun run_of(int nodes, Seconds between_failures, Seconds write, Seconds restart) {
  LongRun run;
  run.nodes = nodes;
  run.failures = {FailureKind{.mean = between_failures * nodes}};
  run.checkpoints = Checkpoints{.write = write, .stall = write};
  run.restart = {.detect = 0.2 * restart, .restart = 0.5 * restart, .load = 0.3 * restart};
  return run;
}

Seconds play_days(const LongRun& run, double days, Seconds every, std::uint64_t seed, RunTimes* times = nullptr) {
  const RunTimes its = play(run, days * day.value * run.nodes, every, steady, seed);
  if (times != nullptr) *times = its;
  return its.total;
}

Seconds sum_of(const RunTimes& its) { return its.useful + its.degraded + its.lost + its.checkpoint + its.detection + its.restart; }

struct Mean {
  double value = 0.0;
  double error = 0.0;  ///< standard
};

Mean mean_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / (count - 1.0) / count)};
}

Mean mean_total(const LongRun& run, double days, Seconds every, int seeds) {
  std::vector<double> totals;
  for (int seed = 0; seed < seeds; ++seed) totals.push_back(play_days(run, days, every, static_cast<std::uint64_t>(seed)).value);
  return mean_of(totals);
}

std::vector<FailurePolicy> policies(int nodes) {
  using Kind = FailurePolicy::Kind;
  return {{.kind = Kind::restart},
          {.kind = Kind::hot_spare, .spares = 1, .repair = 2.0 * hour},
          {.kind = Kind::shrink, .repair = 2.0 * hour, .min_nodes = (nodes + 1) / 2},
          {.kind = Kind::per_step, .repair = 2.0 * hour, .min_nodes = (nodes + 1) / 2}};
}

}  // namespace

TEST_SUITE("What does a long run with failures take?") {
  TEST_CASE("Llama 3 405B: 54 days, 16,384 GPUs, 419 interruptions") {
    const Seconds between_failures = 54.0 / 419.0 * day;
    CHECK(between_failures / hour == doctest::Approx(3.093).epsilon(1e-4));
    CHECK(young_interval(Seconds(30), between_failures).value == doctest::Approx(817.4).epsilon(1e-3));
    const Seconds every = daly_interval(Seconds(30), between_failures);
    CHECK(every.value == doctest::Approx(797.5).epsilon(1e-3));
    CHECK(exponential_efficiency(every, Seconds(30), Seconds(300), between_failures) == doctest::Approx(0.9037).epsilon(1e-4));
    const Seconds slower = daly_interval(Seconds(60), between_failures);
    CHECK(exponential_efficiency(slower, Seconds(60), Seconds(600), between_failures) == doctest::Approx(0.8526).epsilon(1e-4));
  }

  TEST_CASE("Daly's interval is M where a checkpoint takes two of it or more, and near the best one elsewhere") {
    CHECK(daly_interval(Seconds(20), Seconds(10)) == Seconds(10));
    CHECK(daly_interval(Seconds(30), Seconds(10)) == Seconds(10));
    CHECK(daly_interval(Seconds(50), Seconds(100)).value == doctest::Approx(100.0 * (1.0 + 1.0 / 6.0 + 1.0 / 36.0) - 50.0));  // eq. 37
    for (const double stall : {0.01, 0.1, 1.0, 5.0}) {
      const Seconds best = daly_interval(Seconds(stall), Seconds(100));
      const double efficiency = exponential_efficiency(best, Seconds(stall), Seconds(7), Seconds(100));
      for (const double factor : {0.9, 1.1})
        CHECK(exponential_efficiency(factor * best, Seconds(stall), Seconds(7), Seconds(100)) < efficiency);
    }
  }

  TEST_CASE("a checkpoint begins an iteration after the one before, and not before that is complete") {
    LongRun run = run_of(8, 3.0 * hour, Seconds(100), Seconds(300));
    CHECK(checkpoint_interval(run, Seconds(1)) == daly_interval(Seconds(100), 3.0 * hour));
    CHECK(checkpoint_interval(run, Seconds(1e5)) == Seconds(1e5));
    run.checkpoints->stall = Seconds(0);
    CHECK(checkpoint_interval(run, Seconds(1)) == Seconds(100));
    run.checkpoints = Checkpoints{.rule = Checkpoints::Rule::fixed, .every = Seconds(500), .write = Seconds(1), .stall = Seconds(1)};
    CHECK(checkpoint_interval(run, Seconds(1)) == Seconds(500));
    run.checkpoints.reset();
    CHECK(std::isinf(checkpoint_interval(run, Seconds(1)).value));
  }

  TEST_CASE("exponential failures and synchronous checkpoints: the mean total is the closed form's within 3 standard errors") {
    struct Case {
      double mtbf_h, write, restart, every;
    };
    for (const Case& its : {Case{3.093, 30, 300, 797.5}, Case{3.093, 60, 600, 1100}, Case{1, 60, 600, 600}, Case{0.2, 60, 300, 120},
                            Case{24, 300, 600, 7200}, Case{0.5, 5, 3600, 200}, Case{3, 0, 0, 1000}}) {
      CAPTURE(its.mtbf_h);
      const LongRun run = run_of(64, its.mtbf_h * hour, Seconds(its.write), Seconds(its.restart));
      const double days = 400 * its.every / day.value;  // whole intervals
      const Mean total = mean_total(run, days, Seconds(its.every), 400);
      const double share = exponential_efficiency(Seconds(its.every), Seconds(its.write), Seconds(its.restart), its.mtbf_h * hour);
      CHECK(std::abs(total.value - days * day.value / share) < 3.0 * total.error);
    }
  }

  TEST_CASE("what fails and how often does not matter as a whole: GPUs, nodes and groups with the same sum of rates") {
    const LongRun nodes = run_of(64, 2.0 * hour, Seconds(30), Seconds(300));
    LongRun mixed = nodes;
    mixed.failures = {FailureKind{.mean = 6.0 * hour * 64 * 8, .per_node = 8}, FailureKind{.mean = 6.0 * hour * 64},
                      FailureKind{.mean = 6.0 * hour * 2, .per_node = 0, .groups = {{0, 1, 2}, {3, 4}}}};
    CHECK(time_between_failures(mixed.failures, 64).value == doctest::Approx(7200.0));
    const Mean one = mean_total(nodes, 3, Seconds(700), 200);
    const Mean other = mean_total(mixed, 3, Seconds(700), 200);
    CHECK(std::abs(one.value - other.value) < 3.0 * std::hypot(one.error, other.error));
  }

  TEST_CASE("Weibull: times to failure have the mean that was said, and shape 1 is exponential") {
    for (const double shape : {0.7, 1.0 + 1e-9, 2.0}) {
      CAPTURE(shape);
      const std::vector<FailureKind> kinds = {FailureKind{.mean = Seconds(100), .shape = shape}};
      std::vector<double> lives;
      Failures failures(kinds, 1, 5);
      Seconds born;
      for (int i = 0; i < 20000; ++i) {
        lives.push_back((failures.time() - born).value);
        born = failures.time();
        failures.pass();
        failures.renew(0, born);
      }
      const Mean mean = mean_of(lives);
      CHECK(std::abs(mean.value - 100.0) < 3.0 * mean.error);
      const double variation = std::sqrt(std::tgamma(1 + 2 / shape) / std::pow(std::tgamma(1 + 1 / shape), 2) - 1);
      CHECK(mean.error * std::sqrt(20000.0) / 100.0 == doctest::Approx(variation).epsilon(0.05));
    }
    LongRun run = run_of(64, 2.0 * hour, Seconds(30), Seconds(300));
    const Mean exponential = mean_total(run, 2, Seconds(700), 200);
    run.failures.front().shape = 1.0 + 1e-9;
    const Mean weibull = mean_total(run, 2, Seconds(700), 200);
    CHECK(std::abs(exponential.value - weibull.value) < 3.0 * std::hypot(exponential.error, weibull.error));
  }

  TEST_CASE("components that are not new again do not fail again") {
    const std::vector<FailureKind> kinds = {FailureKind{.mean = Seconds(100), .shape = 2.0, .per_node = 2}};
    Failures failures(kinds, 3, 1);
    std::set<double> times;
    for (int i = 0; i < 6; ++i) {
      times.insert(failures.time().value);
      failures.pass();
    }
    CHECK(times.size() == 6);
    CHECK(std::isinf(failures.time().value));
    failures.renew(1, Seconds(1000));
    CHECK(failures.time() > Seconds(1000));
    CHECK(failures.nodes()[0] == 1);
  }

  TEST_CASE("without failures: checkpoints alone, or the plain total") {
    LongRun run = run_of(4, hour, Seconds(50), Seconds(300));
    run.failures.clear();
    RunTimes times;
    const Seconds total = play_days(run, 10 * 950 / day.value, Seconds(950), 1, &times);
    CHECK(total.value == doctest::Approx(10 * 1000));
    CHECK(times.useful / total == doctest::Approx(0.95));
    run.checkpoints->stall = Seconds(0);  // all but the last are written beside the training
    CHECK(play_days(run, 10 * 950 / day.value, Seconds(950), 1).value == doctest::Approx(9550));
    run.checkpoints.reset();
    CHECK(play_days(run, 3, Seconds(std::numeric_limits<double>::infinity()), 1) == 3.0 * day);
  }

  TEST_CASE("a failure before an asynchronous checkpoint is complete falls back to the one before") {
    // The node fails once, where the wear-out is sharp; which second that is, the first time says.
    LongRun run = run_of(1, hour, Seconds(200), Seconds(0));
    run.checkpoints->stall = Seconds(10);
    run.failures = {FailureKind{.mean = Seconds(1e5), .shape = 1.5}};
    const Seconds failure = Failures(run.failures, 1, 3).time();
    // A checkpoint begins 300 s, another one 150 s before the failure, each after 140 s more of training and 10 s of standstill.
    run.checkpoints->write = Seconds(150);
    const Seconds first = failure - Seconds(100);  // the only one begins 100 s before, so all is lost
    RunTimes times = play(run, first.value + 500.0, first, steady, 3);
    CHECK(times.failures == 1);
    CHECK(times.lost.value == doctest::Approx(first.value + 90.0));
    run.checkpoints->write = Seconds(99);  // and here only what came after its begin
    times = play(run, first.value + 500.0, first, steady, 3);
    CHECK(times.lost.value == doctest::Approx(90.0));
  }

  TEST_CASE("per step: a failure costs the step in progress and the detection, then others go on") {
    LongRun run = run_of(10, hour, Seconds(1), Seconds(0));
    run.checkpoints.reset();
    run.restart = {.detect = Seconds(20), .restart = Seconds(500), .load = Seconds(100)};
    run.policy = {.kind = FailurePolicy::Kind::per_step, .repair = Seconds(1000), .min_nodes = 9};
    run.failures = {FailureKind{.mean = Seconds(1e6)}};
    const auto speed = [](int nodes) { return TrainingSpeed{Seconds(7.0), nodes / 7.0}; };
    const double failure = Failures(run.failures, 10, 2).time().value;
    const double samples = 10 / 7.0 * (failure + 5000.0);
    const RunTimes times = play(run, samples, Seconds(std::numeric_limits<double>::infinity()), speed, 2);
    REQUIRE(times.failures == 1);
    const double lost = std::fmod(failure, 7.0);
    CHECK(times.lost.value == doctest::Approx(lost));
    CHECK(times.detection == Seconds(20));
    CHECK(times.restart == Seconds(0));
    // With a node less until the end of the step in which the other one has loaded: a tenth of that is degraded.
    CHECK(times.degraded.value == doctest::Approx(std::ceil((1100.0 - 20.0) / 7.0) * 7.0 / 10.0));
    CHECK(sum_of(times).value == doctest::Approx(times.total.value));
  }

  TEST_CASE("hot spares: the second failure finds none, and waits for the first repair") {
    LongRun run = run_of(2, hour, Seconds(10), Seconds(0));
    run.restart = {.detect = Seconds(20), .restart = Seconds(500), .load = Seconds(100)};
    run.failures = {FailureKind{.mean = Seconds(2e6)}};
    Failures failures(run.failures, 2, 4);
    const Seconds one = failures.time();
    failures.pass();
    const Seconds two = failures.time();
    failures.pass();
    REQUIRE(two > one + Seconds(1000));
    REQUIRE(failures.time() > two + Seconds(10000));
    run.policy = {.kind = FailurePolicy::Kind::hot_spare, .spares = 1, .repair = two - one + Seconds(3000)};
    RunTimes times;
    play_days(run, (two.value + 1000.0) / day.value, Seconds(1000), 4, &times);
    CHECK(times.failures == 2);
    CHECK(times.detection == Seconds(40));
    CHECK(times.restart.value == doctest::Approx(100.0 + (3000.0 - 20.0) + 600.0));
  }

  TEST_CASE("shrink: waits below min_nodes, and takes repaired nodes in at a checkpoint") {
    LongRun run = run_of(2, hour, Seconds(10), Seconds(0));
    run.restart = {.detect = Seconds(20), .restart = Seconds(500), .load = Seconds(100)};
    run.policy = {.kind = FailurePolicy::Kind::shrink, .repair = Seconds(3000), .min_nodes = 1};
    run.failures = {FailureKind{.mean = Seconds(1e7)}};
    const Seconds failure = Failures(run.failures, 2, 6).time();
    RunTimes times;
    play_days(run, (failure.value + 8000.0) / day.value, Seconds(1000), 6, &times);
    REQUIRE(times.failures == 1);
    CHECK(times.detection == Seconds(20));
    CHECK(times.restart.value == doctest::Approx(1200.0));  // after the failure, and with the other node again
    // One node trains 1,000 s and writes for 10 s, three times; at the end of the third the other one has been back for a while.
    CHECK(times.degraded.value == doctest::Approx(1500.0));
    run.policy.min_nodes = 2;
    play_days(run, (failure.value + 8000.0) / day.value, Seconds(1000), 6, &times);
    CHECK(times.degraded.value == doctest::Approx(0.0));
    CHECK(times.restart.value == doctest::Approx(2980.0 + 600.0));
  }

  TEST_CASE("only sizes at which something is trained are asked for") {
    for (const FailurePolicy& policy : policies(32)) {
      LongRun run = run_of(32, hour, Seconds(10), Seconds(60));
      run.failures.push_back({.mean = 40.0 * hour, .per_node = 0, .groups = {{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}});
      run.policy = policy;
      std::set<int> sizes;
      const auto speed = [&](int nodes) { return sizes.insert(nodes), steady(nodes); };
      play(run, 10 * day.value * 32, Seconds(600), speed, 1);
      CHECK(*sizes.begin() >= (policy.may_shrink() ? 16 : 32));
      CHECK(*sizes.rbegin() == 32);
    }
  }

  TEST_CASE("what does not get ahead is an error") {
    LongRun run = run_of(8, Seconds(10), Seconds(60), Seconds(600));
    CHECK_THROWS_WITH_AS(play_days(run, 1, Seconds(60), 1), doctest::Contains("the run makes no progress: after 1000000 failures and"),
                         SimulationError);
    run.checkpoints.reset();
    run.failures.front().mean = hour;
    CHECK_THROWS_AS(play_days(run, 30, Seconds(std::numeric_limits<double>::infinity()), 1), SimulationError);
  }

  TEST_CASE("the shares add up, whatever the policy, and a seed gives the same run again") {
    rc::check([] {
      const int nodes = *rc::gen::inRange(1, 40);
      const double mtbf = *rc::gen::inRange(600, 40000);
      LongRun run = run_of(nodes, Seconds(mtbf), Seconds(*rc::gen::inRange(0, 100)), Seconds(*rc::gen::inRange(0, 600)));
      run.checkpoints->stall = (*rc::gen::inRange(0, 3) / 2.0) * run.checkpoints->write;
      run.policy = *rc::gen::elementOf(policies(nodes));
      run.failures.front().shape = *rc::gen::element(0.5, 1.0, 3.0);
      if (*rc::gen::arbitrary<bool>()) run.failures.push_back({.mean = Seconds(10.0 * mtbf), .per_node = 0, .groups = {{0, nodes - 1}}});
      const Seconds every(*rc::gen::inRange(100, 2000));
      const auto seed = static_cast<std::uint64_t>(*rc::gen::inRange(0, 1000));
      const double samples = *rc::gen::inRange(1, 3 * 86400) * static_cast<double>(nodes);
      const RunTimes one = play(run, samples, every, steady, seed);
      RC_ASSERT(std::abs(sum_of(one) / one.total - 1.0) < 1e-9);
      for (const Seconds part : {one.useful, one.lost, one.checkpoint, one.detection, one.restart}) RC_ASSERT(part >= Seconds(0));
      RC_ASSERT(one.degraded > Seconds(-1e-6));
      RC_ASSERT(one.total >= one.useful);
      const RunTimes again = play(run, samples, every, steady, seed);
      RC_ASSERT(again.total == one.total);
    });
  }

  TEST_CASE("on average over seeds, more failures, longer checkpoints, restarts and repairs are never better") {
    for (const FailurePolicy& policy : policies(16)) {
      CAPTURE(static_cast<int>(policy.kind));
      LongRun run = run_of(16, 2.0 * hour, Seconds(30), Seconds(300));
      run.policy = policy;
      const double total = mean_total(run, 5, Seconds(900), 50).value;
      const auto is_worse = [&](auto change) {
        LongRun other = run;
        change(other);
        return mean_total(other, 5, Seconds(900), 50).value >= total;
      };
      CHECK(is_worse([](LongRun& other) { other.failures.front().mean = other.failures.front().mean / 2.0; }));
      CHECK(is_worse([](LongRun& other) { other.checkpoints->write = other.checkpoints->stall = Seconds(60); }));
      CHECK(is_worse([](LongRun& other) { other.restart.detect = Seconds(300); }));
      CHECK(is_worse([](LongRun& other) { other.restart.load = Seconds(600); }));
      CHECK(is_worse([](LongRun& other) { other.policy.repair = 12.0 * hour; }));
    }
  }
}
