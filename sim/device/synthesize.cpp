#include "device/synthesize.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"
#include "model/dtype.hpp"
#include "model/gradient_order.hpp"

namespace syncopate {

namespace {

/// The profile's error, and a remark if it was not measured on this model.
std::string describe_error(const DeviceProfile& profile, const Model& model) {
  const bool measured =
      std::any_of(profile.errors.begin(), profile.errors.end(), [&model](const ProfileError& error) { return error.model == model.name; });
  return fmt::format("the device profile's error: {}{}", profile.describe_errors(),
                     measured || profile.errors.empty() ? "" : fmt::format("; unknown for {}", model.name));
}

}  // namespace

Trace synthesize(const Model& model, const DeviceProfile& profile, std::int64_t batch) {
  if (batch % profile.gpus != 0) {
    throw InputError(fmt::format("{}: /gpus: {} GPUs share a worker's batch evenly, but the batch is {}; choose a multiple", profile.file,
                                 profile.gpus, batch));
  }
  const double samples = static_cast<double>(batch) / static_cast<double>(profile.gpus);
  const double bytes_per_element = element_bytes(profile.dtype).value();
  Trace trace;
  trace.provenance.kind = "synthetic";
  trace.provenance.source = fmt::format("model {} on device profile {}: {}", model.name, profile.name, profile.source);
  trace.provenance.note = describe_error(profile, model);
  trace.model = model.name;
  trace.batch = batch;
  if (model.resized) trace.input = model.input;
  trace.dtype = profile.dtype;
  trace.device_kind = profile.kind;
  trace.device = profile.name;
  std::size_t tensors = 0;
  for (const ModelLayer& layer : model.layers) {
    Layer timed;
    timed.name = layer.name;
    timed.type = layer.op->name;
    if (layer.cost_class() != CostClass::free) {
      const DeviceProfile::Direction& cost = profile.cost_of(layer, model.name);
      const LayerWork work = work_of(layer, samples, bytes_per_element);
      timed.forward = cost.forward(work);
      timed.backward = cost.backward(work);
    }
    trace.layers.push_back(std::move(timed));
    tensors += layer.tensors.size();
  }
  for (std::size_t i = model.layers.size(); i-- > 0;) {
    for (const Tensor& tensor : gradient_order(model.layers[i])) {
      trace.gradients.push_back(
          {tensor.name, i, Bytes(static_cast<double>(elements(tensor.shape)) * bytes_per_element), tensor.shape, std::nullopt});
    }
  }
  LayerCost update = profile.update;
  update.launch = static_cast<double>(tensors) * update.launch;
  trace.update = update({0, Bytes(0), Bytes(model.parameters() * bytes_per_element)});
  return trace;
}

}  // namespace syncopate
