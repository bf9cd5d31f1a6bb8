#include <doctest/doctest.h>

#include <algorithm>

#include "support/random_point.hpp"

using namespace syncopate;
using namespace syncopate::testing;

namespace {

const std::vector<std::string> synchronous_names = {"s-sgd", "wfbp", "sync-easgd", "mg-wfbp", "mg-wfbp-optimal", "fusion"};

Point disturbed_point(std::mt19937& random) {
  const int nodes = std::uniform_int_distribution<int>(2, 12)(random);
  Point point = make_point(random_trace(random, 20), random_cluster(random, nodes), synchronous_names[random() % synchronous_names.size()]);
  Speed& speed = point.scenario.speed;
  speed.seed = random();
  const auto distribution = random() % 2 == 0 ? Jitter::Distribution::lognormal : Jitter::Distribution::uniform;
  if (random() % 3 != 0) speed.jitter = {distribution, 0.3, {}};
  if (random() % 2 == 0) {
    speed.slow.assign(static_cast<std::size_t>(nodes), 1.0);
    speed.slow[random() % static_cast<unsigned>(nodes)] = 1.7;
  }
  return point;
}

}  // namespace

TEST_SUITE("Are unequal workers simulated as defined?") {
  TEST_CASE("running ahead of the clock changes nothing, and the parts of an iteration add up") {
    std::mt19937 random(21);
    for (int i = 0; i < 150; ++i) {
      CAPTURE(i);
      const Point point = disturbed_point(random);
      CAPTURE(point.scenario.schedule.name);
      const Metrics fast = simulate_point(point).metrics;
      const Metrics plain = simulate_point(point, {.shortcuts = false}).metrics;
      CHECK(fast.iteration.value == doctest::Approx(plain.iteration.value).epsilon(1e-9));
      CHECK(fast.iteration_p50.value == doctest::Approx(plain.iteration_p50.value).epsilon(1e-9));
      CHECK(fast.exposed_communication.value == doctest::Approx(plain.exposed_communication.value).epsilon(1e-9));
      CHECK(fast.iteration_p95.value == doctest::Approx(plain.iteration_p95.value).epsilon(1e-9));
      CHECK(fast.wait.value == doctest::Approx(plain.wait.value).epsilon(1e-9));
      CHECK(fast.throughput == doctest::Approx(plain.throughput).epsilon(1e-9));
      CHECK(fast.communications_per_iteration == doctest::Approx(plain.communications_per_iteration).epsilon(1e-9));
      CHECK(fast.bytes_per_worker_per_iteration.value == doctest::Approx(plain.bytes_per_worker_per_iteration.value).epsilon(1e-9));
      CHECK(fast.communication.value == doctest::Approx(plain.communication.value).epsilon(1e-9));
      CHECK((fast.compute + fast.wait + fast.exposed_communication).value == doctest::Approx(fast.iteration.value).epsilon(1e-9));
    }
  }

  TEST_CASE("a synchronous step of jittered workers lasts as long as a recurrence over the same factors says") {
    std::mt19937 random(22);
    for (int i = 0; i < 60; ++i) {
      CAPTURE(i);
      const int nodes = 6;
      const Trace trace = random_trace(random, 15);
      Point point = make_point(trace, random_cluster(random, nodes), "wfbp");
      Scenario& scenario = point.scenario;
      scenario.speed.jitter = {Jitter::Distribution::lognormal, 0.4, {}};
      scenario.speed.slow = {1, 1, 1, 1, 1, 1.5};
      scenario.speed.seed = 1234U + static_cast<unsigned>(i);
      scenario.warmup = 2;
      scenario.measured = 5;

      const StepProfile profile = step_profile(trace, Granularity::tensor);
      std::vector<Seconds> start(nodes);
      std::vector<std::vector<Seconds>> starts;
      Seconds channel;
      for (int step = 0; step < 9; ++step) {
        starts.push_back(start);
        std::vector<Seconds> computed(nodes);
        for (int rank = 0; rank < nodes; ++rank) {
          const auto r = static_cast<std::size_t>(rank);
          computed[r] =
              start[r] + scenario.speed.compute_factor(rank, step, Phase::forward, Seconds(0)) * (profile.forward + profile.backward);
        }
        for (const auto& gradient : profile.gradients) {
          Seconds posted;
          for (int rank = 0; rank < nodes; ++rank) {
            const double factor = scenario.speed.compute_factor(rank, step, Phase::forward, Seconds(0));
            posted = std::max(posted, start[static_cast<std::size_t>(rank)] + factor * profile.forward + factor * gradient.ready);
          }
          channel = std::max(channel, posted) +
                    collective_cost(scenario.cluster, Operation::all_reduce, *scenario.all_reduce.algorithm, nodes)(gradient.bytes);
        }
        for (int rank = 0; rank < nodes; ++rank) {
          const auto r = static_cast<std::size_t>(rank);
          start[r] = std::max(computed[r], channel) + scenario.speed.slowness(rank) * profile.update;
        }
      }
      // The window: from the last start of step 2 to the first end of 5 steps begun after that.
      const Seconds open = *std::max_element(starts[2].begin(), starts[2].end());
      Seconds close(1e300);
      std::vector<std::size_t> first(nodes);
      for (std::size_t r = 0; r < nodes; ++r) {
        first[r] = starts[2][r] >= open ? 2 : 3;
        close = std::min(close, starts[first[r] + 5 < starts.size() ? first[r] + 5 : 8][r]);
      }
      double steps = 0.0;
      for (std::size_t r = 0; r < nodes; ++r) {
        for (std::size_t step = 0; step + 1 < starts.size(); ++step) {
          const Seconds inside = std::min(close, starts[step + 1][r]) - std::max(open, starts[step][r]);
          steps += std::max(0.0, inside / (starts[step + 1][r] - starts[step][r]));
        }
      }
      CHECK(simulate_point(point).metrics.iteration.value == doctest::Approx(((close - open) * nodes / steps).value).epsilon(1e-9));
    }
  }

  TEST_CASE("all ranks equally slow is one slow worker") {
    std::mt19937 random(23);
    Point point = make_point(random_trace(random, 10), random_cluster(random, 4), "wfbp");
    point.scenario.speed.slow.assign(4, 3.0);
    const PointResult result = simulate_point(point);
    CHECK(result.workers_simulated == 1);
    CHECK(result.metrics.wait.value == doctest::Approx(2.0 * result.metrics.compute.value).epsilon(1e-9));
  }
}
