#include "capture/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/statistics.hpp"
#include "base/table.hpp"

namespace syncopate::capture {

namespace {

Marks record_iteration(Device& device, std::size_t layers, bool queue_first) {
  device.begin(queue_first);
  device.mark();
  for (std::size_t i = 0; i <= layers; ++i) {
    device.forward(i);
    device.mark();
  }
  for (std::size_t i = layers + 1; i-- > 0;) {
    device.backward(i);
    device.mark();
  }
  device.update();
  device.mark();
  return device.collect();
}

Seconds measure_floor(Device& device) {
  constexpr int marks = 101;
  device.begin(true);
  for (int i = 0; i < marks; ++i) device.mark();
  const Marks times = device.collect();
  std::vector<Seconds> gaps;
  for (std::size_t i = 1; i < times.size(); ++i) gaps.push_back(times[i] - times[i - 1]);
  return spread(std::move(gaps)).median;
}

/// Time between two marks in every iteration.
std::vector<Seconds> between(const std::vector<Marks>& iterations, std::size_t from, std::size_t to) {
  std::vector<Seconds> times;
  times.reserve(iterations.size());
  for (const Marks& marks : iterations) times.push_back(marks[to] - marks[from]);
  return times;
}

/// How much longer the median iteration of the second half lasts than that of the first.
double drift_of(const std::vector<Seconds>& totals) {
  const auto middle = totals.begin() + static_cast<std::ptrdiff_t>(totals.size() / 2);
  return spread({middle, totals.end()}).median / spread({totals.begin(), middle}).median - 1;
}

void add_warnings(Summary& summary, std::size_t iterations) {
  constexpr double most_apart = 0.05;
  const double apart = summary.sum_of_layers / summary.iteration.median - 1;
  if (std::abs(apart) > most_apart) {
    summary.warnings.push_back(
        fmt::format("the medians of the layers add up to {}, {:+.1f}% off the iteration's {}: capture again on a quieter machine",
                    format_seconds(summary.sum_of_layers), 100 * apart, format_seconds(summary.iteration.median)));
  }
  if (std::abs(summary.drift) > most_apart) {
    summary.warnings.push_back(
        fmt::format("the second half of the iterations lasts {:+.1f}% longer than the first: the device's speed changed, capture again",
                    100 * summary.drift));
  }
  constexpr std::size_t one_in = 5;
  if (summary.outliers * one_in > iterations) {
    summary.warnings.push_back(fmt::format("{} of {} iterations are outliers, longer than {} by far: capture again on a quieter machine",
                                           summary.outliers, iterations, format_seconds(summary.iteration.third)));
  }
}

}  // namespace

Recording record(Device& device, std::size_t layers, const RecordingOptions& options) {
  Recording recording;
  const auto repeat = [&](int times, bool queue_first) {
    std::vector<Marks> iterations;
    for (int i = 0; i < times; ++i) {
      iterations.push_back(record_iteration(device, layers, queue_first));
      options.progress();
    }
    return iterations;
  };
  repeat(options.warmup, true);
  recording.floor = measure_floor(device);
  recording.busy = repeat(options.iterations, true);
  recording.spans = device.describe().asynchronous ? repeat(options.iterations, false) : recording.busy;
  return recording;
}

Spread spread(std::vector<Seconds> values) {
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75)};
}

Summary summarize(const Recording& recording) {
  const std::size_t marks = recording.busy.front().size();
  const std::size_t layers = marks / 2 - 1;
  const std::size_t turn = layers;  // the mark between forward and backward
  Summary summary;
  for (std::size_t i = 0; i < layers; ++i) {
    const std::size_t done = turn + layers - i;
    summary.layers.push_back({spread(between(recording.busy, i, i + 1)), spread(between(recording.busy, done - 1, done)),
                              spread(between(recording.spans, turn, done)).median});
    summary.sum_of_layers += summary.layers.back().forward.median + summary.layers.back().backward.median;
  }
  summary.update = spread(between(recording.busy, marks - 2, marks - 1));
  summary.sum_of_layers += summary.update.median;
  summary.forward_busy = spread(between(recording.busy, 0, turn)).median;
  summary.backward_busy = spread(between(recording.busy, turn, marks - 2)).median;
  summary.forward_span = spread(between(recording.spans, 0, turn)).median;
  summary.backward_span = spread(between(recording.spans, turn, marks - 2)).median;
  const std::vector<Seconds> totals = between(recording.busy, 0, marks - 1);
  summary.iteration = spread(totals);
  const Seconds longest = summary.iteration.third + 1.5 * (summary.iteration.third - summary.iteration.first);
  summary.outliers =
      static_cast<std::size_t>(std::count_if(totals.begin(), totals.end(), [longest](Seconds time) { return time > longest; }));
  summary.drift = drift_of(totals);
  add_warnings(summary, totals.size());
  return summary;
}

}  // namespace syncopate::capture
