#include "metrics/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/statistics.hpp"
#include "metrics/intervals.hpp"

namespace syncopate {

namespace {

/// The share of a step that lies in the window.
double share(const Step& step, const Window& window) {
  const Seconds inside = std::min(step.end, window.close) - std::max(step.start, window.open);
  if (step.end == step.start) return step.start >= window.open && step.start < window.close ? 1.0 : 0.0;
  return std::max(0.0, inside / (step.end - step.start));
}

/// Sums over the steps in the window, cut steps counting pro rata.
struct StepSums {
  double steps = 0.0;
  double posts = 0.0;
  double bytes = 0.0;
  double updates = 0.0;
  double staleness = 0.0;
  int staleness_max = 0;
  std::vector<Seconds> durations;  ///< of the steps that began in the window, sorted
};

StepSums sum_steps(const JobTimeline& timeline) {
  StepSums sums;
  for (const std::vector<Step>& worker : timeline.steps) {
    for (const Step& step : worker) {
      const double weight = share(step, timeline.window);
      if (weight == 0.0) continue;
      sums.steps += weight;
      sums.posts += weight * step.posts;
      sums.bytes += weight * step.bytes.value;
      sums.updates += weight * step.updates;
      sums.staleness += weight * step.staleness;
      sums.staleness_max = std::max(sums.staleness_max, step.staleness_max);
      if (step.start >= timeline.window.open) sums.durations.push_back(step.end - step.start);
    }
  }
  std::sort(sums.durations.begin(), sums.durations.end());
  return sums;
}

/// Zero when only rounding is left of a difference of times as long as `scale`.
Seconds without_rounding(Seconds difference, Seconds scale) {
  constexpr double noise = 1e-12;
  return std::abs(difference.value) < noise * scale.value ? Seconds(0) : difference;
}

}  // namespace

Metrics measure(const JobTimeline& timeline, std::int64_t batch) {
  const Window& window = timeline.window;
  const auto simulated = static_cast<double>(timeline.steps.size());
  const StepSums sums = sum_steps(timeline);

  std::vector<Interval> moving;
  moving.reserve(timeline.collectives.size());
  for (const CollectiveSpan& span : timeline.collectives) moving.push_back({span.start, span.end});
  const IntervalUnion busy(std::move(moving));

  Seconds computing;
  Seconds waiting;
  Seconds exposed;
  for (const std::vector<Span>& worker : timeline.spans) {
    for (const Span& span : worker) {
      const Seconds from = std::max(span.start, window.open);
      const Seconds to = std::min(span.end, window.close);
      if (to <= from) continue;
      if (span.phase != Phase::blocked) {
        computing += to - from;
        continue;
      }
      const Seconds moved = busy.covered(from, to);
      exposed += moved;
      waiting += to - from - moved;
    }
  }

  Metrics metrics;
  metrics.iteration = (window.close - window.open) * simulated / sums.steps;
  metrics.iteration_p50 = quantile(sums.durations, 0.50);
  metrics.iteration_p95 = quantile(sums.durations, 0.95);
  metrics.compute = timeline.compute;
  metrics.wait = without_rounding(waiting / sums.steps + (computing / sums.steps - timeline.compute), metrics.iteration);
  metrics.exposed_communication = without_rounding(exposed / sums.steps, metrics.iteration);
  metrics.communication = busy.covered(window.open, window.close) * simulated / sums.steps;
  metrics.throughput = timeline.ranks * static_cast<double>(batch) / metrics.iteration.value;
  metrics.speedup = timeline.ranks * (timeline.compute / metrics.iteration);
  metrics.efficiency = timeline.compute / metrics.iteration;
  metrics.communications_per_iteration = sums.posts / sums.steps;
  metrics.bytes_per_worker_per_iteration = Bytes(sums.bytes / sums.steps);
  metrics.staleness_mean = sums.updates > 0.0 ? sums.staleness / sums.updates : 0.0;
  metrics.staleness_max = sums.staleness_max;
  return metrics;
}

}  // namespace syncopate
