#include "capture/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/statistics.hpp"
#include "base/table.hpp"
#include "base/text.hpp"

namespace syncopate::capture {

namespace {

void queue_iteration(Device& device, std::size_t layers, Run run) {
  device.begin(run);
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
}

/// The time between marks `from` and `to`, for every iteration.
std::vector<Seconds> between(const std::vector<Marks>& iterations, std::size_t from, std::size_t to) {
  std::vector<Seconds> times;
  times.reserve(iterations.size());
  for (const Marks& marks : iterations) times.push_back(marks[to] - marks[from]);
  return times;
}

/// Medians of the times between two marks.
std::vector<Seconds> medians_between(const std::vector<Marks>& iterations) {
  std::vector<Seconds> medians;
  for (std::size_t i = 1; i < iterations.front().size(); ++i) medians.push_back(spread(between(iterations, i - 1, i)).median);
  return medians;
}

/// Subtracts from every time between two marks what a mark takes. With `busy`, of a free run: there a mark takes no time while the device
/// waits for the host, and it waits where more passes than `busy`, its work alone, and a mark.
Marks without_marks(const Marks& times, Seconds floor, const std::vector<Seconds>* busy = nullptr) {
  Marks result = {Seconds(0)};
  for (std::size_t i = 1; i < times.size(); ++i) {
    const Seconds passed = times[i] - times[i - 1];
    const Seconds waited = busy == nullptr ? Seconds(0) : std::max(Seconds(0), passed - (*busy)[i - 1] - floor);
    result.push_back(result.back() + std::max(Seconds(0), passed - std::max(Seconds(0), floor - waited)));
  }
  return result;
}

Seconds measure_floor(Device& device, Run run) {
  constexpr int marks = 101;
  device.begin(run);
  for (int i = 0; i < marks; ++i) device.mark();
  const Marks times = device.collect();
  std::vector<Seconds> gaps;
  for (std::size_t i = 1; i < times.size(); ++i) gaps.push_back(times[i] - times[i - 1]);
  return spread(std::move(gaps)).median;
}

Steadiness steadiness_of(const std::vector<Marks>& iterations) {
  const std::vector<Seconds> totals = between(iterations, 0, iterations.front().size() - 1);
  Steadiness found;
  found.iteration = spread(totals);
  const Seconds longest = 1.1 * found.iteration.median;
  found.outliers =
      static_cast<std::size_t>(std::count_if(totals.begin(), totals.end(), [longest](Seconds time) { return time > longest; }));
  const auto middle = totals.begin() + static_cast<std::ptrdiff_t>(totals.size() / 2);
  found.drift = spread({middle, totals.end()}).median / spread({totals.begin(), middle}).median - 1;
  return found;
}

constexpr double most_apart = 0.05;

void warn_of(const Steadiness& found, std::size_t iterations, const std::string& which, const std::string& whose,
             std::vector<std::string>& warnings) {
  if (std::abs(found.drift) > most_apart) {
    warnings.push_back(fmt::format("the second half of the {} took {:.1f}% {} than the first: {} speed changed, capture again", which,
                                   100 * std::abs(found.drift), found.drift > 0 ? "longer" : "less", whose));
  }
  constexpr std::size_t one_in = 5;
  if (found.outliers * one_in > iterations) {
    warnings.push_back(fmt::format("{} of {} {} take over 10% longer than the median of {}: capture again on a quieter machine",
                                   found.outliers, iterations, which, format_seconds(found.iteration.median)));
  }
}

void warn_of_graph(Summary& summary) {
  const Seconds layers = summary.forward_busy + summary.backward_busy;
  const Seconds graph = summary.forward_span + summary.backward_span;
  const double apart = graph / layers - 1;
  if (std::abs(apart) <= most_apart) return;
  summary.warnings.push_back(fmt::format("forward and backward take {} as a graph, {:.1f}% {} than their layers' {}", format_seconds(graph),
                                         100 * std::abs(apart), apart > 0 ? "more" : "less", format_seconds(layers)));
}

void warn_of_sum(const Summary& summary, std::vector<std::string>& warnings) {
  const double apart = summary.sum_of_layers / summary.busy.iteration.median - 1;
  if (std::abs(apart) <= most_apart) return;
  warnings.push_back(
      fmt::format("the medians of the layers add up to {}, {:.1f}% {} than the iteration's {}: capture again on a quieter machine",
                  format_seconds(summary.sum_of_layers), 100 * std::abs(apart), apart > 0 ? "more" : "less",
                  format_seconds(summary.busy.iteration.median)));
}

}  // namespace

Recording record(Device& device, std::size_t layers, const RecordingOptions& options) {
  Recording recording;
  recording.warmup = options.warmup;
  const auto repeat = [&](int times, Run run, Seconds floor) {
    std::vector<Marks> iterations;
    for (int i = 0; i < times; ++i) {
      if (i == 0 || run != Run::graph) queue_iteration(device, layers, run);
      iterations.push_back(without_marks(device.collect(), floor));
      options.progress();
    }
    return iterations;
  };
  repeat(options.warmup, Run::queued, Seconds(0));
  recording.floor = measure_floor(device, Run::queued);
  recording.busy = repeat(options.iterations, Run::queued, recording.floor);
  if (!device.asynchronous()) return recording;
  recording.graphs = options.graphs;
  recording.span_floor = options.graphs ? measure_floor(device, Run::graph) : recording.floor;
  if (options.graphs) {
    recording.spans = repeat(options.iterations, Run::graph, recording.span_floor);
  } else {
    recording.spans = repeat(options.iterations, Run::free, Seconds(0));
    const std::vector<Seconds> alone = medians_between(recording.busy);
    for (Marks& marks : recording.spans) marks = without_marks(marks, recording.floor, &alone);
  }
  return recording;
}

Spread spread(std::vector<Seconds> values) {
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75)};
}

Summary summarize(const Recording& recording) {
  const std::vector<Marks>& busy = recording.busy;
  const std::vector<Marks>& spans = recording.spans.empty() ? busy : recording.spans;
  const std::size_t marks = busy.front().size();
  const std::size_t layers = marks / 2 - 1;
  const std::size_t turn = layers;  // the mark between forward and backward
  Summary summary;
  for (std::size_t i = 0; i < layers; ++i) {
    const std::size_t done = turn + layers - i;
    summary.layers.push_back(
        {spread(between(busy, i, i + 1)), spread(between(busy, done - 1, done)), spread(between(spans, turn, done)).median});
    summary.sum_of_layers += summary.layers.back().forward.median + summary.layers.back().backward.median;
  }
  summary.update = spread(between(busy, marks - 2, marks - 1));
  summary.sum_of_layers += summary.update.median;
  summary.forward_busy = spread(between(busy, 0, turn)).median;
  summary.backward_busy = spread(between(busy, turn, marks - 2)).median;
  summary.forward_span = spread(between(spans, 0, turn)).median;
  summary.backward_span = spread(between(spans, turn, marks - 2)).median;
  summary.busy = steadiness_of(busy);
  summary.span = steadiness_of(spans);
  warn_of_sum(summary, summary.warnings);
  warn_of(summary.busy, busy.size(), "iterations", "the device's", summary.warnings);
  if (recording.spans.empty()) return summary;
  if (recording.graphs) warn_of_graph(summary);
  const bool steady = std::abs(summary.busy.drift) <= most_apart;  // the device is steady, so the host's launch speed varies
  warn_of(summary.span, spans.size(), recording.graphs ? "runs of the graph" : "iterations that run by themselves",
          steady && !recording.graphs ? "the host's" : "the device's", summary.warnings);
  return summary;
}

}  // namespace syncopate::capture
