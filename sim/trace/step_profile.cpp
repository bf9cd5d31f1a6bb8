#include "trace/step_profile.hpp"

#include <algorithm>

#include "trace/trace.hpp"

namespace syncopate {

namespace {

double stretch(Seconds span, Seconds sum) { return sum > Seconds(0) ? span / sum : 0.0; }

/// Merges the gradients of each layer into one, in the order of their last tensors.
std::vector<StepProfile::GradientReady> merge_by_layer(const std::vector<StepProfile::GradientReady>& tensors,
                                                       const std::vector<StepProfile::LayerTimes>& layers) {
  std::vector<StepProfile::GradientReady> merged(layers.size());
  std::vector<std::size_t> last(layers.size());
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    StepProfile::GradientReady& gradient = merged[tensors[i].layer];
    if (gradient.bytes == Bytes(0)) used.push_back(tensors[i].layer);
    gradient.name = layers[tensors[i].layer].name;
    gradient.bytes += tensors[i].bytes;
    gradient.ready = tensors[i].ready;
    gradient.layer = tensors[i].layer;
    gradient.parameters.push_back(tensors[i].name);
    last[tensors[i].layer] = i;
  }
  std::sort(used.begin(), used.end(), [&](std::size_t a, std::size_t b) { return last[a] < last[b]; });
  std::vector<StepProfile::GradientReady> result;
  result.reserve(used.size());
  for (const std::size_t layer : used) result.push_back(merged[layer]);
  return result;
}

}  // namespace

Bytes StepProfile::bytes() const {
  Bytes total;
  for (const GradientReady& gradient : gradients) total += gradient.bytes;
  return total;
}

StepProfile step_profile(const Trace& trace, Granularity granularity) {
  Seconds forward_sum;
  Seconds backward_sum;
  for (const Layer& layer : trace.layers) {
    forward_sum += layer.forward;
    backward_sum += layer.backward;
  }
  StepProfile profile;
  profile.forward = trace.forward_span.value_or(forward_sum);
  profile.backward = trace.backward_span.value_or(trace.gradients.back().ready.value_or(backward_sum));
  profile.update = trace.update;
  const double forward_stretch = stretch(profile.forward, forward_sum);
  const double backward_stretch = stretch(profile.backward, backward_sum);
  for (const Layer& layer : trace.layers) {
    profile.layers.push_back({layer.name, layer.forward * forward_stretch, layer.backward * backward_stretch});
  }

  std::vector<Seconds> backward_end(trace.layers.size());
  Seconds elapsed;
  for (std::size_t i = trace.layers.size(); i-- > 0;) {
    elapsed += profile.layers[i].backward;
    backward_end[i] = std::min(elapsed, profile.backward);  // rounding in the stretch may exceed the span
  }
  for (const Gradient& gradient : trace.gradients) {
    profile.gradients.push_back({gradient.name, gradient.bytes, gradient.ready.value_or(backward_end[gradient.layer]), gradient.layer});
  }
  if (granularity == Granularity::layer) profile.gradients = merge_by_layer(profile.gradients, profile.layers);
  return profile;
}

}  // namespace syncopate
