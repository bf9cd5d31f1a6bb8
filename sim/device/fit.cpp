#include "device/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>

#include "base/errors.hpp"
#include "base/statistics.hpp"
#include "device/least_squares.hpp"
#include "model/dtype.hpp"

namespace syncopate {

namespace {

/// With fewer layers of a class, the terms of its cost cannot be told apart.
constexpr std::size_t enough_layers = 4;

/// The measured layers of one class, in forward or in backward.
struct Points {
  std::vector<LayerWork> work;
  std::vector<double> seconds;

  /// Fits the cost per MAC, weight and activation, and the launch. If terms are equivalent, earlier ones in this order win.
  LayerCost fit() const {
    std::vector<Terms> rows;
    for (const LayerWork& w : work) rows.push_back({w.macs, w.weights.value, w.activations.value, 1.0});
    const Terms x = non_negative_least_squares(rows, seconds);
    return {Seconds(x[3]), x[0], SecondsPerByte(x[2]), SecondsPerByte(x[1])};
  }

  /// For too few layers: the cost per MAC is given, and the remaining time is launch.
  LayerCost fit_launch(double s_per_mac) const {
    double rest = 0;
    for (std::size_t i = 0; i < work.size(); ++i) rest += seconds[i] - s_per_mac * work[i].macs;
    return {Seconds(std::max(0.0, rest / static_cast<double>(work.size()))), s_per_mac, {}, {}};
  }

  double r2(const LayerCost& cost) const {
    const double mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
    double residual = 0;
    double variance = 0;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      residual += std::pow(seconds[i] - cost(work[i]).value, 2);
      variance += std::pow(seconds[i] - mean, 2);
    }
    return variance > 0 ? 1 - residual / variance : 1;
  }
};

double bytes_per_element_of(const Trace& trace) {
  const auto bytes = element_bytes(trace.dtype);
  if (!bytes)
    throw InputError(
        fmt::format("{}: /model/dtype: a fit needs a known number format, such as \"fp32\", got \"{}\"", trace.file, trace.dtype));
  return *bytes;
}

SampleFit measure(const FitSample& sample) {
  SampleFit measured;
  measured.match = match_layers(*sample.trace, *sample.model);
  for (const Layer& layer : sample.trace->layers) {
    measured.forward_left_out += layer.forward;
    measured.backward_left_out += layer.backward;
  }
  for (const auto& [traced, described] : measured.match.pairs) {
    measured.forward += sample.trace->layers[traced].forward;
    measured.backward += sample.trace->layers[traced].backward;
  }
  const Seconds matched = measured.forward + measured.backward;
  const Seconds all = measured.forward_left_out + measured.backward_left_out;
  measured.forward_left_out -= measured.forward;
  measured.backward_left_out -= measured.backward;
  if (measured.match.pairs.empty() || matched < 0.5 * all) {
    throw InputError(
        fmt::format("{}: only {} of its {} layers, with {:.0f}% of the time, match the model {} ({}), expected at least half of the time; "
                    "name the right model with --model",
                    sample.trace->file, measured.match.pairs.size(), sample.trace->layers.size(),
                    100 * (all > Seconds(0) ? matched / all : 0.0), sample.model->name, sample.model->file));
  }
  return measured;
}

/// Calls visit(traced layer, model's layer, work) for every matched layer that takes time.
template <class Visit>
void for_matched(const FitSample& sample, const LayerMatch& match, std::int64_t gpus, Visit&& visit) {
  const double samples = static_cast<double>(sample.trace->batch) / static_cast<double>(gpus);
  const double bytes_per_element = bytes_per_element_of(*sample.trace);
  for (const auto& [traced, described] : match.pairs) {
    const ModelLayer& layer = sample.model->layers[described];
    if (layer.cost_class() != CostClass::free) visit(sample.trace->layers[traced], layer, work_of(layer, samples, bytes_per_element));
  }
}

/// The optimiser's step per byte of parameters, from the samples that measured it.
LayerCost fit_update(const std::vector<FitSample>& samples) {
  std::vector<Terms> rows;
  std::vector<double> seconds;
  for (const FitSample& sample : samples) {
    if (sample.trace->update <= Seconds(0)) continue;
    rows.push_back({sample.model->parameters() * bytes_per_element_of(*sample.trace), 0, 0, 0});
    seconds.push_back(sample.trace->update.value);
  }
  LayerCost update;
  if (!rows.empty()) update.weights = SecondsPerByte(non_negative_least_squares(rows, seconds).front());
  return update;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

/// The profile's error over the sample's matched layers.
ProfileError error_of(const DeviceProfile& profile, const FitSample& sample, const SampleFit& measured) {
  Seconds predicted_forward;
  Seconds predicted_backward;
  std::vector<double> layer_errors;
  for_matched(sample, measured.match, profile.gpus, [&](const Layer& traced, const ModelLayer& described, const LayerWork& work) {
    const DeviceProfile::Direction& cost = profile.cost_of(described, sample.model->name);
    predicted_forward += cost.forward(work);
    predicted_backward += cost.backward(work);
    const Seconds both = traced.forward + traced.backward;
    if (both > Seconds(0)) layer_errors.push_back(std::abs((cost.forward(work) + cost.backward(work)) / both - 1));
  });
  ProfileError error;
  error.model = sample.model->name;
  error.against = fmt::format("{} batch {} ({})", sample.trace->model, sample.trace->batch,
                              std::filesystem::path(sample.trace->file).filename().string());
  if (measured.forward > Seconds(0)) error.forward = predicted_forward / measured.forward - 1;
  if (measured.backward > Seconds(0)) error.backward = predicted_backward / measured.backward - 1;
  if (!layer_errors.empty()) error.median_layer = median(layer_errors);
  return error;
}

}  // namespace

ProfileError profile_error(const DeviceProfile& profile, const FitSample& sample) {
  if (sample.trace->dtype != profile.dtype) {
    throw InputError(fmt::format("{}: /model/dtype: the trace is in \"{}\", the profile {} for \"{}\"; compare like with like",
                                 sample.trace->file, sample.trace->dtype, profile.name, profile.dtype));
  }
  return error_of(profile, sample, measure(sample));
}

FitReport fit_profile(const std::vector<FitSample>& samples, std::int64_t gpus) {
  struct ClassPoints {
    Points forward;
    Points backward;
  };
  std::map<CostClass, ClassPoints> classes;
  FitReport report;
  report.profile.gpus = gpus;
  report.profile.dtype = samples.front().trace->dtype;
  for (const FitSample& sample : samples) {
    if (sample.trace->dtype != report.profile.dtype) {
      throw InputError(fmt::format("{}: /model/dtype: \"{}\" cannot be fitted together with the \"{}\" of {}; fit a profile for each",
                                   sample.trace->file, sample.trace->dtype, report.profile.dtype, samples.front().trace->file));
    }
    report.samples.push_back(measure(sample));
    for_matched(sample, report.samples.back().match, gpus, [&](const Layer& traced, const ModelLayer& described, const LayerWork& work) {
      ClassPoints& points = classes[described.cost_class()];
      points.forward.work.push_back(work);
      points.forward.seconds.push_back(traced.forward.value);
      points.backward.work.push_back(work);
      points.backward.seconds.push_back(traced.backward.value);
    });
  }
  for (const auto& [cost_class, points] : classes) {
    DeviceProfile::Direction direction{points.forward.fit(), points.backward.fit()};
    // A linear layer is a 1x1 convolution. With few linear layers, take the convolutions' cost per MAC and fit the launch only.
    const auto convolution = report.profile.costs.find(CostClass::convolution);
    if (cost_class == CostClass::linear && points.forward.work.size() < enough_layers && convolution != report.profile.costs.end()) {
      direction = {points.forward.fit_launch(convolution->second.forward.s_per_mac),
                   points.backward.fit_launch(convolution->second.backward.s_per_mac)};
    }
    report.profile.costs.emplace(cost_class, direction);
    report.classes.push_back(
        {cost_class, points.forward.seconds.size(), points.forward.r2(direction.forward), points.backward.r2(direction.backward)});
  }
  if (const auto elementwise = report.profile.costs.find(CostClass::elementwise); elementwise != report.profile.costs.end()) {
    report.profile.others = elementwise->second;
  }
  report.profile.update = fit_update(samples);
  for (std::size_t i = 0; i < samples.size(); ++i) report.profile.errors.push_back(error_of(report.profile, samples[i], report.samples[i]));
  return report;
}

}  // namespace syncopate
