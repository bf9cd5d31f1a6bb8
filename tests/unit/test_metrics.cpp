#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "base/interval_union.hpp"
#include "metrics/metrics.hpp"

using namespace syncopate;

namespace {

Span span(int step, Phase phase, double start, double end) { return {Seconds(start), Seconds(end), step, phase}; }

Step step(double start, double end, int posts = 0, double bytes = 0) {
  Step result;
  result.start = Seconds(start);
  result.end = Seconds(end);
  result.posts = posts;
  result.bytes = Bytes(bytes);
  result.updates = 1;
  return result;
}

CollectiveSpan moving(double start, double end) { return {Seconds(start), Seconds(end), 0, 0, nullptr}; }

}  // namespace

TEST_SUITE("Is the covered part of a stretch right?") {
  TEST_CASE("overlapping, touching, empty and distant intervals") {
    const auto at = [](double from, double to) { return Interval{Seconds(from), Seconds(to)}; };
    const IntervalUnion covered({at(5, 7), at(1, 2), at(2, 3), at(6, 9), at(4, 4), at(20, 21)});
    CHECK(covered.covered(Seconds(0), Seconds(100)) == Seconds(2 + 4 + 1));
    CHECK(covered.covered(Seconds(1.5), Seconds(6)) == Seconds(1.5 + 1));
    CHECK(covered.covered(Seconds(3), Seconds(5)) == Seconds(0));
    CHECK(covered.covered(Seconds(8), Seconds(20.5)) == Seconds(1.5));
    CHECK(covered.covered(Seconds(9), Seconds(1)) == Seconds(0));
    CHECK(IntervalUnion({}).covered(Seconds(0), Seconds(1)) == Seconds(0));
  }
}

TEST_SUITE("Are the metrics derived from the timeline as defined?") {
  // Two workers, steps of 10 s, window [10, 30]. Worker 1 computes for 4 s, worker 0 for 6 s; the collective moves in
  // the last 3 s of each step.
  TEST_CASE("a step splits into compute, wait and exposed communication") {
    JobTimeline timeline;
    timeline.workers = 2;
    timeline.compute = Seconds(4);
    timeline.window = {Seconds(10), Seconds(30)};
    timeline.steps.resize(2);
    timeline.spans.resize(2);
    for (int worker = 0; worker < 2; ++worker) {
      for (int i = 0; i < 3; ++i) {
        const double start = 10.0 * i;
        const double computed = worker == 0 ? 6.0 : 4.0;
        timeline.steps[static_cast<std::size_t>(worker)].push_back(step(start, start + 10, 2, 100));
        timeline.spans[static_cast<std::size_t>(worker)].push_back(span(i, Phase::forward, start, start + 1));
        timeline.spans[static_cast<std::size_t>(worker)].push_back(span(i, Phase::backward, start + 1, start + computed));
        timeline.spans[static_cast<std::size_t>(worker)].push_back(span(i, Phase::blocked, start + computed, start + 10));
        if (worker == 0) timeline.collectives.push_back(moving(start + 7, start + 10));
      }
    }
    const Metrics metrics = measure(timeline, 8);
    CHECK(metrics.iteration == Seconds(10));
    CHECK(metrics.iteration_p50 == Seconds(10));
    CHECK(metrics.iteration_p95 == Seconds(10));
    CHECK(metrics.exposed_communication == Seconds(3));
    CHECK(metrics.wait.value == doctest::Approx(3.0));  // mean of 1 + 2 s lost to slowness and 3 s for the slow one
    CHECK(metrics.communication == Seconds(3));
    CHECK(metrics.throughput == doctest::Approx(2 * 8 / 10.0));
    CHECK(metrics.speedup == doctest::Approx(0.8));
    CHECK(metrics.efficiency == doctest::Approx(0.4));
    CHECK(metrics.communications_per_iteration == 2.0);
    CHECK(metrics.bytes_per_worker_per_iteration == Bytes(100));
    CHECK(metrics.staleness_mean == 0.0);
  }

  TEST_CASE("steps that the window's edges cut count pro rata") {
    JobTimeline timeline;
    timeline.workers = 2;
    timeline.compute = Seconds(4);
    timeline.window = {Seconds(10), Seconds(20)};
    timeline.steps = {{step(0, 10), step(10, 20), step(20, 30)}, {step(0, 8), step(8, 16, 4), step(16, 24, 8)}};
    const Metrics metrics = measure(timeline, 1);
    // Worker 0 does 1 step in the window, worker 1 does 6/8 + 4/8.
    CHECK(metrics.iteration.value == doctest::Approx(10.0 * 2 / 2.25));
    CHECK(metrics.communications_per_iteration == doctest::Approx((0.75 * 4 + 0.5 * 8) / 2.25));
    // Pooled steps are those that begin in the window: 10 s and 8 s.
    CHECK(metrics.iteration_p50 == Seconds(9));
    CHECK(metrics.iteration_p95.value == doctest::Approx(9.9));
  }

  // Two workers, of which each step computes for 4 s; then bytes move for 6 s. Worker 1 begins its steps `late_first`, and later on
  // `late_then`, after worker 0, whose steps make the window.
  double wait_of_shifted(double late_first, double late_then) {
    constexpr int steps = 8;
    JobTimeline timeline;
    timeline.workers = 2;
    timeline.compute = Seconds(4);
    timeline.window = {Seconds(10), Seconds(10.0 * (steps - 1))};
    timeline.steps.resize(2);
    timeline.spans.resize(2);
    timeline.collectives.push_back(moving(0, 10.0 * (steps + 1)));
    for (std::size_t worker = 0; worker < 2; ++worker) {
      const auto start_of = [&](int i) { return 10.0 * i + (worker == 0 ? 0.0 : i < steps / 2 ? late_first : late_then); };
      for (int i = 0; i < steps; ++i) {
        timeline.steps[worker].push_back(step(start_of(i), start_of(i + 1)));
        timeline.spans[worker].push_back(span(i, Phase::forward, start_of(i), start_of(i) + 4));
        timeline.spans[worker].push_back(span(i, Phase::blocked, start_of(i) + 4, start_of(i + 1)));
      }
    }
    const Metrics metrics = measure(timeline, 1);
    CHECK((metrics.wait + metrics.exposed_communication + metrics.compute).value == doctest::Approx(metrics.iteration.value));
    return metrics.wait.value;
  }

  TEST_CASE("equal workers wait for nothing, wherever an edge cuts their steps") {
    for (double first = 0; first < 10; first += 0.5) {
      for (double then = std::max(0.0, first - 6); then < 10; then += 0.5) {
        CAPTURE(first);
        CAPTURE(then);
        CHECK(wait_of_shifted(first, then) == 0.0);
      }
    }
  }

  TEST_CASE("of a step that an edge cuts, compute and waits count as much as the step") {
    JobTimeline timeline;
    timeline.workers = 1;
    timeline.compute = Seconds(4);
    timeline.window = {Seconds(5), Seconds(20)};
    timeline.steps = {{step(0, 10), step(10, 20)}};
    timeline.spans = {
        {span(0, Phase::forward, 0, 6), span(0, Phase::blocked, 6, 10), span(1, Phase::forward, 10, 14), span(1, Phase::blocked, 14, 20)}};
    timeline.collectives = {moving(8, 10), moving(14, 20)};
    const Metrics metrics = measure(timeline, 1);
    // Half of the first step is in the window: 3 s of compute, 1 s of waiting and 1 s while bytes move.
    CHECK(metrics.iteration == Seconds(10));
    CHECK(metrics.exposed_communication.value == doctest::Approx((1 + 6) / 1.5));
    CHECK(metrics.wait.value == doctest::Approx((3 + 4 + 1) / 1.5 - 4));
  }

  TEST_CASE("staleness is averaged over updates") {
    JobTimeline timeline;
    timeline.workers = 1;
    timeline.compute = Seconds(1);
    timeline.window = {Seconds(0), Seconds(2)};
    timeline.steps = {{step(0, 1), step(1, 2)}};
    timeline.steps[0][1].staleness = 3;
    timeline.steps[0][1].staleness_max = 3;
    CHECK(measure(timeline, 1).staleness_mean == doctest::Approx(1.5));
    CHECK(measure(timeline, 1).staleness_max == 3.0);
  }
}
