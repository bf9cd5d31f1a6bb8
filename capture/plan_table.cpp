#include "capture/plan_table.hpp"

#include <fmt/format.h>

#include "base/table.hpp"
#include "base/text.hpp"

namespace syncopate::capture {

std::string format_plan(const Network& network) {
  std::vector<std::vector<std::string>> table = {{"layer", "op", "output", "tensors", "parameters", "MACs", "activations"}};
  const auto batch = static_cast<double>(network.batch);
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const ModelLayer& layer = network.model.layers[i];
    std::vector<std::string> tensors;
    for (const Tensor& tensor : layer.tensors) tensors.push_back(format_shape(tensor.shape));
    const auto bytes = static_cast<double>(network.layers[i].aliased ? 0 : network.layers[i].elements * network.element_bytes);
    table.push_back({layer.name, std::string(layer.op->name), fmt::format("{}x{}", network.batch, format_shape(layer.output)),
                     fmt::format("{}", fmt::join(tensors, " ")), fmt::format("{:.0f}", layer.parameters()),
                     fmt::format("{:.0f}", batch * layer.macs), format_bytes(Bytes(bytes))});
  }
  const MemoryNeeds& memory = network.memory;
  std::string text = fmt::format("{}, batch {}, {}, images {}\n\n{}\n", network.model.name, network.batch, network.dtype,
                                 network.layout == Layout::channels_first ? "NCHW" : "NHWC", format_table(table));
  text += fmt::format("{} layers, {} tensors, {:.0f} parameters; {:.4g} GMACs of forward\n", network.layers.size(), network.model.tensors(),
                      network.model.parameters(), batch * network.model.macs() / 1e9);
  text += fmt::format(
      "memory: {} = input {} + parameters {} + their gradients {} + the optimizer's state {} + activations {} + their gradients, at most "
      "at one time, {}"
      " + what ops keep for backward {}\n",
      format_bytes(memory.total()), format_bytes(memory.input), format_bytes(memory.parameters), format_bytes(memory.gradients),
      format_bytes(memory.optimizer), format_bytes(memory.activations), format_bytes(memory.activation_gradients),
      format_bytes(memory.kept));
  return text + "Libraries need additional workspace, which depends on the algorithms that they choose.\n";
}

}  // namespace syncopate::capture
