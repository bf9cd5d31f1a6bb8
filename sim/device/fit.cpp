#include "device/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "base/errors.hpp"
#include "base/statistics.hpp"
#include "model/dtype.hpp"

namespace syncopate {

namespace {

using Row = std::vector<double>;

/// Below this number of layers a class's terms cannot be told apart.
constexpr std::size_t enough_layers = 4;

double dot(const Row& a, const Row& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

/// Solves a small symmetric system by elimination with pivoting; empty when it is singular.
Row solve(std::vector<Row> a, Row b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i) {
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    }
    if (std::abs(a[pivot][k]) < 1e-12) return {};
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  return b;
}

/// One class's layers in one direction.
struct Points {
  std::vector<LayerWork> work;
  Row seconds;

  /// MACs, weights, activations, launch: the order in which terms are preferred when the data cannot tell them apart.
  LayerCost fit() const {
    std::vector<Row> rows;
    for (const LayerWork& w : work) rows.push_back({w.macs, w.weights.value, w.activations.value, 1.0});
    const Row x = non_negative_least_squares(rows, seconds);
    return {Seconds(x[3]), x[0], SecondsPerByte(x[2]), SecondsPerByte(x[1])};
  }

  /// With too few layers to tell the terms apart: MACs at a known cost, and the rest of the time is launch.
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
        fmt::format("{}: /model/dtype: a fit needs the type of the numbers, such as \"fp32\", got \"{}\"", trace.file, trace.dtype));
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
        fmt::format("{}: {} of its {} layers, with {:.0f}% of their time, could be matched with the model {} ({}), expected at least half "
                    "of the time; name the right model with --model",
                    sample.trace->file, measured.match.pairs.size(), sample.trace->layers.size(),
                    100 * (all > Seconds(0) ? matched / all : 0.0), sample.model->name, sample.model->file));
  }
  return measured;
}

/// The matched layers that cost time, each with its work: visit(traced, described, work).
template <class Visit>
void for_matched(const FitSample& sample, const LayerMatch& match, std::int64_t gpus, Visit&& visit) {
  const double samples = static_cast<double>(sample.trace->batch) / static_cast<double>(gpus);
  const double bytes_per_element = bytes_per_element_of(*sample.trace);
  for (const auto& [traced, described] : match.pairs) {
    const ModelLayer& layer = sample.model->layers[described];
    if (layer.cost_class() != CostClass::free) visit(sample.trace->layers[traced], layer, work_of(layer, samples, bytes_per_element));
  }
}

/// The optimiser's step per byte of parameters, over the samples that measured it.
LayerCost fit_update(const std::vector<FitSample>& samples) {
  std::vector<Row> rows;
  Row seconds;
  for (const FitSample& sample : samples) {
    if (sample.trace->update <= Seconds(0)) continue;
    rows.push_back({sample.model->parameters() * bytes_per_element_of(*sample.trace)});
    seconds.push_back(sample.trace->update.value);
  }
  LayerCost update;
  if (!rows.empty()) update.weights = SecondsPerByte(non_negative_least_squares(rows, seconds).front());
  return update;
}

double median(Row values) {
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

/// The profile's error over layers that were measured and matched before.
ProfileError error_of(const DeviceProfile& profile, const FitSample& sample, const SampleFit& measured) {
  Seconds predicted_forward;
  Seconds predicted_backward;
  Row layer_errors;
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

std::vector<double> non_negative_least_squares(const std::vector<Row>& rows, const Row& y) {
  const std::size_t columns = rows.front().size();
  Row scale(columns);  // columns of very different sizes (MACs, 1) would ruin the elimination
  for (std::size_t j = 0; j < columns; ++j) {
    for (const Row& row : rows) scale[j] += row[j] * row[j];
    scale[j] = std::sqrt(scale[j]);
  }
  std::vector<unsigned> subsets((1U << columns) - 1);
  std::iota(subsets.begin(), subsets.end(), 1U);
  std::stable_sort(subsets.begin(), subsets.end(), [](unsigned a, unsigned b) { return std::popcount(a) < std::popcount(b); });

  // The optimum is an unconstrained one of some subset of the columns, and with 4 columns all 15 are tried at once.
  Row best(columns);
  double best_residual = dot(y, y);
  const double indifferent = 1e-9 * best_residual;
  for (const unsigned subset : subsets) {
    std::vector<std::size_t> used;
    for (std::size_t j = 0; j < columns; ++j) {
      if ((subset >> j & 1U) != 0 && scale[j] > 0) used.push_back(j);
    }
    if (used.size() != static_cast<std::size_t>(std::popcount(subset))) continue;
    std::vector<Row> normal(used.size(), Row(used.size()));
    Row right(used.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t p = 0; p < used.size(); ++p) {
        const double value = rows[i][used[p]] / scale[used[p]];
        right[p] += value * y[i];
        for (std::size_t q = 0; q < used.size(); ++q) normal[p][q] += value * rows[i][used[q]] / scale[used[q]];
      }
    }
    const Row solution = solve(normal, right);
    if (solution.empty() || std::any_of(solution.begin(), solution.end(), [](double x) { return x < 0; })) continue;
    Row x(columns);
    for (std::size_t p = 0; p < used.size(); ++p) x[used[p]] = solution[p] / scale[used[p]];
    double residual = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) residual += std::pow(dot(rows[i], x) - y[i], 2);
    if (residual < best_residual - indifferent) {
      best = x;
      best_residual = residual;
    }
  }
  return best;
}

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
    // A linear layer is a 1x1 convolution: a few of them say more of launches than of rates.
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
