#include "capture/capture_trace.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/gradient_order.hpp"

namespace syncopate::capture {

namespace {

/// "loss", or a variant of it that no layer of the model is called.
std::string loss_name(const Model& model) {
  std::string name = "loss";
  while (std::any_of(model.layers.begin(), model.layers.end(), [&name](const ModelLayer& layer) { return layer.name == name; }))
    name += "_";
  return name;
}

}  // namespace

Trace capture_trace(const Network& network, const DeviceDescription& device, const Recording& recording, const Summary& summary) {
  Trace trace;
  trace.provenance.kind = "measured";
  trace.provenance.source = fmt::format("{}, trained by Syncopate's capture on random inputs", network.model.file);
  trace.model = network.model.name;
  trace.batch = network.batch;
  if (network.model.resized) trace.input = network.model.input;
  trace.dtype = network.dtype;
  trace.device_kind = device.kind;
  trace.device = device.name;
  trace.software = device.software;
  trace.timing = {{"method", fmt::format("medians of {} iterations", recording.busy.size())},
                  {"clock", device.clock},
                  {"floor_s", recording.floor.value},
                  {"warmup", recording.warmup},
                  {"iterations", recording.busy.size()},
                  {"optimizer", name_of(network.optimizer)},
                  {"forward_busy_s", summary.forward_busy.value},
                  {"backward_busy_s", summary.backward_busy.value},
                  {"iteration_s", summary.busy.iteration.median.value},
                  {"sum_of_layers_s", summary.sum_of_layers.value},
                  {"outliers", summary.busy.outliers},
                  {"drift", summary.busy.drift}};
  if (recording.graphs) {
    trace.timing["spans"] = "of a CUDA graph";
    trace.timing["span_floor_s"] = recording.span_floor.value;
  }
  if (!device.clocks.empty()) trace.timing["clocks"] = device.clocks;
  if (!device.kernels.empty()) trace.timing["kernels"] = device.kernels;
  trace.update = summary.update.median;
  trace.forward_span = summary.forward_span;
  trace.backward_span = summary.backward_span;
  for (std::size_t i = 0; i < summary.layers.size(); ++i) {
    const Summary::Layer& times = summary.layers[i];
    const bool is_loss = i == network.model.layers.size();
    Layer layer;
    layer.name = is_loss ? loss_name(network.model) : network.model.layers[i].name;
    layer.type = is_loss ? "cross_entropy" : std::string(network.model.layers[i].op->name);
    layer.forward = times.forward.median;
    layer.backward = times.backward.median;
    layer.forward_quartiles = {times.forward.first, times.forward.third};
    layer.backward_quartiles = {times.backward.first, times.backward.third};
    trace.layers.push_back(std::move(layer));
  }
  for (std::size_t i = network.model.layers.size(); i-- > 0;) {
    const ModelLayer& layer = network.model.layers[i];
    for (const Tensor& tensor : gradient_order(layer)) {
      const auto bytes = static_cast<double>(elements(tensor.shape) * network.parameter_bytes(layer));
      trace.gradients.push_back({tensor.name, i, Bytes(bytes), tensor.shape, summary.layers[i].ready});
    }
  }
  return trace;
}

}  // namespace syncopate::capture
