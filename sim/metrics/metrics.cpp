#include "metrics/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/indexed.hpp"
#include "base/interval_union.hpp"
#include "base/statistics.hpp"
#include "metrics/confidence.hpp"

namespace syncopate {

namespace {

/// Sums over the steps in the window, cut steps counting pro rata.
struct StepSums {
  double steps = 0.0;
  double posts = 0.0;
  double bytes = 0.0;
  double sent = 0.0;
  double updates = 0.0;
  double staleness = 0.0;
  double staleness_max = 0.0;
  std::vector<Seconds> durations;  ///< of the steps that began in the window, sorted
};

StepSums sum_steps(const JobTimeline& timeline) {
  StepSums sums;
  for (const std::vector<Step>& worker : timeline.steps) {
    for (const Step& step : worker) {
      const double weight = timeline.window.share({step.start, step.end});
      if (weight == 0.0) continue;
      sums.steps += weight * step.entered;
      sums.posts += weight * step.posts;
      sums.bytes += weight * step.bytes.value;
      sums.sent += weight * step.sent.value;
      sums.updates += weight * step.updates;
      sums.staleness += weight * step.staleness;
      sums.staleness_max = std::max(sums.staleness_max, step.staleness_max);
      if (step.start >= timeline.window.open * (1.0 - rounding)) sums.durations.push_back(step.end - step.start);
    }
  }
  std::sort(sums.durations.begin(), sums.durations.end());
  return sums;
}

/// The steps of a worker that lie in the window, at least in part.
class StepsInWindow {
 public:
  StepsInWindow(const std::vector<Step>& steps, const Window& window) : steps_(steps), window_(window) {}

  /// Calls `visitor(part, step, share)` for the part of a stretch of time in each step, and the share of that step in the window. Stretches
  /// come in the order of time.
  template <class Visitor>
  void visit(const Interval& time, const Visitor& visitor) {
    while (first_ < steps_.size() && steps_[first_].end <= time.start) ++first_;
    for (std::size_t i = first_; i < steps_.size() && steps_[i].start < time.end; ++i) {
      const Step& step = steps_[i];
      const double share = window_.share({step.start, step.end});
      const Interval part = {std::max(time.start, step.start), std::min(time.end, step.end)};
      if (share > 0.0 && part.end > part.start) visitor(part, step, share);
    }
  }

 private:
  const std::vector<Step>& steps_;
  const Window& window_;
  std::size_t first_ = 0;  ///< the first step that may reach into what comes next
};

/// When bytes moved or a server worked.
class Movements {
 public:
  explicit Movements(const JobTimeline& timeline) : moving(everything(timeline)), timeline_(timeline) {}

  /// Seconds in the window in which a worker's channels were busy, added up over the workers.
  Seconds busy_time(const Window& window) const {
    const std::vector<Interval> shared = collectives(timeline_);
    const Seconds shared_time = IntervalUnion(shared).covered(window.open, window.close);
    Seconds total = static_cast<double>(timeline_.steps.size()) * shared_time;
    for (const std::vector<Interval>& own : timeline_.channels) {
      if (own.empty()) continue;
      total -= shared_time;
      std::vector<Interval> both = own;
      both.insert(both.end(), shared.begin(), shared.end());
      total += IntervalUnion(std::move(both)).covered(window.open, window.close);
    }
    return total;
  }

  IntervalUnion moving;  ///< anything that a blocked worker may wait for

 private:
  static std::vector<Interval> collectives(const JobTimeline& timeline) {
    std::vector<Interval> intervals;
    intervals.reserve(timeline.collectives.size());
    for (const CollectiveSpan& span : timeline.collectives) intervals.push_back({span.start, span.end});
    return intervals;
  }

  static std::vector<Interval> everything(const JobTimeline& timeline) {
    std::vector<Interval> intervals = collectives(timeline);
    // Without servers nobody blocks on another worker's own channel.
    if (!timeline.serves) return intervals;
    intervals.insert(intervals.end(), timeline.server_work.begin(), timeline.server_work.end());
    std::size_t many = 1 << 20;
    for (const std::vector<Interval>& own : timeline.channels) {
      intervals.insert(intervals.end(), own.begin(), own.end());
      // Thousands of workers send at the same time: their union is small.
      if (intervals.size() <= many) continue;
      intervals = IntervalUnion(std::move(intervals)).parts();
      many = std::max(many, 2 * intervals.size());
    }
    return intervals;
  }

  const JobTimeline& timeline_;
};

/// Zero when only rounding is left of a difference of times as long as `scale`.
Seconds without_rounding(Seconds difference, Seconds scale) {
  return std::abs(difference.value) < rounding * scale.value ? Seconds(0) : difference;
}

}  // namespace

Metrics measure(const JobTimeline& timeline, std::int64_t batch) {
  const Window& window = timeline.window;
  const auto simulated = static_cast<double>(timeline.steps.size());
  const StepSums sums = sum_steps(timeline);

  const Movements movements(timeline);
  Seconds computing;
  Seconds waiting;
  Seconds exposed;
  Seconds wasted;
  for (std::size_t worker = 0; worker < timeline.spans.size(); ++worker) {
    const std::vector<Span>& spans = timeline.spans[worker];
    StepsInWindow steps(timeline.steps[worker], window);
    for (std::size_t i = 0; i < spans.size(); ++i) {
      Span span = spans[i];
      // The spans of a shown worker are summed as if it were not shown: another order would change the last digits.
      for (; i + 1 < spans.size(); ++i) {
        const Span& next = spans[i + 1];
        if (!continues(span, next, std::min(timeline.steps[worker][at(span.step)].entered, timeline.steps[worker][at(next.step)].entered)))
          break;
        span.end = next.end;
      }
      steps.visit({span.start, span.end}, [&](const Interval& part, const Step& step, double share) {
        const Seconds length = share * (part.end - part.start);
        if (is_compute(span.phase)) {
          computing += length;
          wasted += (1.0 - step.entered) * length;
          return;
        }
        const Seconds moved = span.phase == Phase::blocked         ? share * movements.moving.covered(part.start, part.end)
                              : span.phase == Phase::communicating ? length
                                                                   : Seconds(0);
        exposed += moved;
        waiting += length - moved;
      });
    }
  }

  for (const std::vector<Interval>& worker : timeline.absences) waiting += IntervalUnion(worker).covered(window.open, window.close);

  Metrics metrics;
  metrics.iteration = (window.close - window.open) * simulated / sums.steps;
  const std::size_t copies = at(timeline.workers) / timeline.steps.size();
  metrics.iteration_p50 = quantile(sums.durations, 0.50, copies);
  metrics.iteration_p95 = quantile(sums.durations, 0.95, copies);
  metrics.compute = timeline.compute;
  metrics.wait = without_rounding(waiting / sums.steps + (computing / sums.steps - timeline.compute), metrics.iteration);
  metrics.exposed_communication = without_rounding(exposed / sums.steps, metrics.iteration);
  metrics.communication = movements.busy_time(window) / sums.steps;
  metrics.throughput = timeline.workers * static_cast<double>(batch) / metrics.iteration.value;
  metrics.speedup = timeline.workers * (timeline.compute / metrics.iteration);
  metrics.efficiency = timeline.compute / metrics.iteration;
  metrics.communications_per_iteration = sums.posts / sums.steps;
  metrics.bytes_per_worker_per_iteration = Bytes(sums.bytes / sums.steps);
  metrics.sent_bytes_per_worker = Bytes(sums.sent / sums.steps);
  metrics.gathered_peak = timeline.held_at_most;
  metrics.staleness_mean = sums.updates > 0.0 ? sums.staleness / sums.updates : 0.0;
  metrics.staleness_max = sums.staleness_max;
  metrics.wasted_share = computing > Seconds(0) ? std::max(0.0, wasted / computing) : 0.0;
  return metrics;
}

namespace {

int cycles_per_slice(int cycles) { return std::max(1, cycles / enough_slices); }

}  // namespace

int slices_of(int cycles) { return cycles / cycles_per_slice(cycles); }

std::optional<double> relative_half_width(const JobTimeline& timeline, int cycles, const std::vector<Interval>& events) {
  constexpr int fewest_slices = 3;
  const int slices = slices_of(cycles);
  if (slices < fewest_slices) return std::nullopt;
  const Seconds open = timeline.window.open;
  const Seconds length = (timeline.window.close - open) * (static_cast<double>(cycles_per_slice(cycles)) / cycles);
  std::vector<double> steps(at(slices));
  for (const std::vector<Step>& worker : timeline.steps) {
    for (const Step& step : worker) {
      const double first = std::floor((step.start - open) / length);
      const double last = std::floor((step.end - open) / length);
      for (double slice = std::max(first, 0.0); slice <= std::min(last, slices - 1.0); slice += 1.0) {
        const Seconds begin = open + slice * length;
        steps[static_cast<std::size_t>(slice)] += Window{begin, begin + length, true}.share({step.start, step.end}) * step.entered;
      }
    }
  }
  std::vector<double> samples;
  for (int slice = 0; slice < slices; ++slice) {
    const Interval reach = {open + (slice - 1.0) * length, open + (slice + 1.0) * length};
    if (std::none_of(events.begin(), events.end(),
                     [&](const Interval& event) { return event.start < reach.end && event.end > reach.start; }))
      samples.push_back(steps[at(slice)]);
  }
  if (static_cast<int>(samples.size()) < fewest_slices) return std::nullopt;
  const Sample sample = describe(samples);
  constexpr double of_rounding = 1e-9;
  if (sample.deviation < of_rounding * sample.mean) return 0.0;
  const double correlation = std::clamp(sample.correlation, 0.0, 1.0);
  const double independent = std::max(2.0, static_cast<double>(samples.size()) * (1.0 - correlation) / (1.0 + correlation));
  return students_t(independent - 1.0) * sample.deviation / (sample.mean * std::sqrt(independent));
}

double backlog_growth(const JobTimeline& timeline) {
  const Window& window = timeline.window;
  std::vector<Seconds> delays;
  for (const CollectiveSpan& span : timeline.collectives) {
    if (span.ready >= window.open && span.ready < window.close) delays.push_back(span.end - span.ready);
  }
  constexpr std::size_t fewest = 9;
  if (delays.size() < fewest) return 0.0;
  const std::size_t third = delays.size() / 3;
  Seconds first;
  Seconds last;
  for (std::size_t i = 0; i < third; ++i) {
    first += delays[i];
    last += delays[delays.size() - 1 - i];
  }
  const Seconds apart = (window.close - window.open) * (2.0 / 3.0);
  return (last - first) / static_cast<double>(third) / apart;
}

std::vector<Interval> moving_intervals(const JobTimeline& timeline) { return Movements(timeline).moving.parts(); }

std::vector<int> count_local_steps(const JobTimeline& timeline) {
  std::vector<int> counts;
  for (const std::vector<Step>& worker : timeline.steps) {
    for (const Step& step : worker) {
      if (step.mixed_after == 0 || step.end <= timeline.window.open || step.end > timeline.window.close) continue;
      const auto taken = at(step.mixed_after);
      if (counts.size() < taken) counts.resize(taken);
      ++counts[taken - 1];
    }
  }
  return counts;
}

}  // namespace syncopate
