#include "capture/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/errors.hpp"
#include "capture/alignment.hpp"
#include "model/dtype.hpp"

namespace syncopate::capture {

namespace {

/// Whether the output has the numbers of the input in the same order. Tokens lie as the pixels of NHWC.
bool is_view(const ModelLayer& layer, const Shape& input, Layout layout) {
  const bool to_tokens = layer.op->name == "to_tokens";
  if (!to_tokens && layer.op->name != "flatten") return false;
  return input.size() < 3 || input[0] == 1 || input[1] * input[2] == 1 || to_tokens == (layout == Layout::channels_last);
}

/// A ReLU may overwrite its input if nothing else reads it, not even backward of the layer that made it. Frameworks do the same.
bool works_in_place(const Network& network, const ModelLayer& layer, const std::vector<std::size_t>& readers) {
  constexpr std::array<std::string_view, 5> never_look_back = {"conv2d", "conv1d", "linear", "batch_norm", "add"};
  const std::size_t source = layer.inputs.front();
  if (layer.op->name != "relu" || source == Model::input_layer || readers[source] != 1) return false;
  return std::find(never_look_back.begin(), never_look_back.end(), network.model.layers[source].op->name) != never_look_back.end();
}

/// Assigns offsets: largest buffer first, each at the lowest offset that is free during its lifetime. Returns the total size.
std::int64_t pack(std::vector<Buffer>& buffers, std::int64_t element_bytes) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return buffers[a].elements > buffers[b].elements; });
  std::vector<std::size_t> placed;  // by offset
  placed.reserve(buffers.size());
  std::int64_t top = 0;
  for (const std::size_t i : order) {
    Buffer& buffer = buffers[i];
    const std::int64_t bytes = aligned(buffer.elements * element_bytes);
    for (const std::size_t j : placed) {
      const Buffer& other = buffers[j];
      if (other.dies < buffer.born || buffer.dies < other.born) continue;
      if (buffer.offset + bytes <= other.offset) break;
      buffer.offset = std::max(buffer.offset, other.offset + aligned(other.elements * element_bytes));
    }
    top = std::max(top, buffer.offset + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                   [&](std::size_t a, std::size_t b) { return buffers[a].offset < buffers[b].offset; }),
                  i);
  }
  return top;
}

/// Follows the gradients from the loss to the input and assigns their buffers. Additions and views pass their gradient on unchanged. A ReLU
/// works in place if nothing else reads its gradient.
void plan_gradients(Network& network) {
  const std::size_t count = network.layers.size();
  const auto step = [count](std::size_t layer) { return count - layer; };
  std::vector<int> users;                              // by buffer: how many inputs of layers have their gradient in it
  std::vector<std::size_t> last_reader(count, count);  // in the order of backward
  const auto add_buffer = [&](std::int64_t elements, std::size_t born, std::size_t dies) {
    network.buffers.push_back({elements, born, dies, 0});
    users.push_back(0);
    return network.buffers.size() - 1;
  };
  for (const std::size_t head : network.heads) {
    if (network.layers[head].trains) network.layers[head].contributions = {add_buffer(network.layers[head].elements, 0, step(head))};
  }
  for (std::size_t i = count; i-- > 0;) {
    NetworkLayer& layer = network.layers[i];
    const ModelLayer& described = network.model.layers[i];
    layer.input_gradients.assign(described.inputs.size(), NetworkLayer::no_buffer);
    if (!layer.trains) continue;
    if (layer.contributions.size() == 1) {
      layer.output_gradient = layer.contributions.front();
    } else {
      layer.output_gradient = add_buffer(layer.elements, step(last_reader[i]), step(i));
      network.layers[last_reader[i]].sums.push_back(i);
    }
    const bool adds = described.op->name == "add" || described.op->name == "positional";
    const bool same_buffer = adds || is_view(described, network.shape(described.inputs.front()), network.layout) ||
                             (described.op->name == "relu" && users[layer.output_gradient] <= 1);
    for (std::size_t slot = 0; slot < described.inputs.size(); ++slot) {
      const std::size_t source = described.inputs[slot];
      if (source == Model::input_layer || !network.layers[source].trains) continue;
      if (same_buffer) {
        Buffer& buffer = network.buffers[layer.output_gradient];
        buffer.dies = std::max(buffer.dies, step(source));
        layer.input_gradients[slot] = layer.output_gradient;
      } else {
        layer.input_gradients[slot] = add_buffer(network.layers[source].elements, step(i), step(source));
      }
      ++users[layer.input_gradients[slot]];
      network.layers[source].contributions.push_back(layer.input_gradients[slot]);
      last_reader[source] = i;
    }
  }
}

/// Finds the embeddings that tied_linear layers share, which read_model has checked to be there, and who begins their gradients.
void plan_shared_weights(Network& network) {
  const std::vector<ModelLayer>& described = network.model.layers;
  std::vector<bool> begun(described.size());
  for (std::size_t i = described.size(); i-- > 0;) {
    NetworkLayer& layer = network.layers[i];
    if (described[i].op->name == "tied_linear") {
      const Shape shape = {described[i].output.back(), network.shape(described[i].inputs.front()).back()};
      const auto table = std::find_if(described.begin(), described.end(), [&shape](const ModelLayer& candidate) {
        return candidate.op->name == "embedding" && candidate.tensors.front().shape == shape;
      });
      layer.table = static_cast<std::size_t>(table - described.begin());
    }
    const std::size_t owner = layer.table == NetworkLayer::no_table ? i : layer.table;
    layer.adds_to_gradient = begun[owner];
    begun[owner] = true;
  }
}

void require_possible(const Network& network) {
  double elements = 0;
  for (const ModelLayer& layer : network.model.layers)
    elements += layer.parameters() + static_cast<double>(network.batch) * layer.activations;
  constexpr double most = 1e15;
  if (elements > most) {
    throw InputError(fmt::format("{}: a batch of {} has {:.3g} elements, more than any device holds; choose a smaller --batch",
                                 network.model.file, network.batch, elements));
  }
}

/// Estimated bytes that the op keeps for backward. Libraries may keep more. Attention in 16 bits is counted as one fused operation, which
/// keeps a number of fp32 per head and token, if all inputs need gradients; else, and where cuDNN has no engine for it, attention keeps
/// weights and their gradients, as in fp32.
Bytes kept_bytes(const Network& network, std::size_t index) {
  const ModelLayer& layer = network.model.layers[index];
  const double outputs = static_cast<double>(network.batch) * unchecked_elements(layer.output);
  if (layer.op->name == "max_pool" || layer.op->name == "max_over_time" || layer.op->name == "lrn") return Bytes(4 * outputs);
  if (layer.op->name != "attention") return Bytes(0);
  const auto tokens = static_cast<double>(layer.output[0]);
  const auto heads = static_cast<double>(layer.attributes.heads);
  const double rows = static_cast<double>(network.batch) * heads * tokens;
  const std::vector<std::size_t>& gradients = network.layers[index].input_gradients;
  const bool lacks_gradients =
      network.layers[index].trains && std::find(gradients.begin(), gradients.end(), NetworkLayer::no_buffer) != gradients.end();
  return Bytes(network.element_bytes == 2 && network.fused_attention && !lacks_gradients
                   ? 4 * rows
                   : 2 * static_cast<double>(network.element_bytes) * rows * tokens);
}

void require_capturable(const Network& network, const ModelLayer& layer) {
  const bool reads_input = std::find(layer.inputs.begin(), layer.inputs.end(), Model::input_layer) != layer.inputs.end();
  if (layer.op->name == "embedding" && !reads_input) {
    throw InputError(
        fmt::format("{}: layer {}: an embedding can be captured only if it reads the model's input", network.model.file, layer.name));
  }
  if (layer.op->name != "embedding" && reads_input && network.largest_id > 0) {
    throw InputError(fmt::format("{}: layer {}: {} reads the model's input, which is a list of ids; only an embedding can",
                                 network.model.file, layer.name, layer.op->name));
  }
}

}  // namespace

void require_ops(const Network& network, std::string_view device, bool (*has)(std::string_view op)) {
  for (const ModelLayer& layer : network.model.layers) {
    if (!has(layer.op->name)) {
      throw InputError(fmt::format("{}: layer {}: the {} device does not support {}; import a PyTorch profile of this model instead",
                                   network.model.file, layer.name, device, layer.op->name));
    }
  }
}

std::int64_t Network::parameter_bytes(const ModelLayer& layer) const {
  return layer.op->cost_class == CostClass::normalization ? 4 : element_bytes;
}

bool has_equal_windows(const Shape& input, const ModelLayer& layer) {
  return input[1] % layer.output[1] == 0 && input[2] % layer.output[2] == 0;
}

Attributes adaptive_window(const Shape& input, const ModelLayer& layer) {
  Attributes window;
  for (const std::size_t i : {0U, 1U}) window.kernel[i] = window.stride[i] = input[i + 1] / layer.output[i + 1];
  return window;
}

Network plan_network(Model model, std::int64_t batch, const std::string& dtype, Layout layout, Optimizer optimizer, bool fused_attention) {
  Network network;
  network.model = std::move(model);
  network.batch = batch;
  network.dtype = dtype;
  network.layout = layout;
  network.optimizer = optimizer;
  network.fused_attention = fused_attention;
  network.element_bytes = static_cast<std::int64_t>(syncopate::element_bytes(dtype).value());
  require_possible(network);
  network.input_elements = batch * elements(network.model.input);
  std::vector<std::size_t> readers(network.model.layers.size());
  for (const ModelLayer& described : network.model.layers) {
    for (const std::size_t source : described.inputs) {
      if (source != Model::input_layer) ++readers[source];
    }
  }
  for (const ModelLayer& described : network.model.layers) {
    if (described.op->name == "embedding" && described.inputs.front() == Model::input_layer)
      network.largest_id = std::max(network.largest_id, described.tensors.front().shape.front());
  }
  for (const ModelLayer& described : network.model.layers) {
    require_capturable(network, described);
    NetworkLayer layer;
    layer.elements = batch * elements(described.output);
    layer.aliased = is_view(described, network.shape(described.inputs.front()), layout) || works_in_place(network, described, readers);
    layer.trains = !described.tensors.empty() ||
                   std::any_of(described.inputs.begin(), described.inputs.end(),
                               [&network](std::size_t source) { return source != Model::input_layer && network.layers[source].trains; });
    if (!layer.aliased) {
      layer.offset = network.activation_bytes;
      network.activation_bytes += aligned(layer.elements * network.element_bytes);
    }
    if (readers[network.layers.size()] == 0) network.heads.push_back(network.layers.size());
    network.layers.push_back(std::move(layer));
  }
  plan_gradients(network);
  plan_shared_weights(network);
  network.buffer_bytes = pack(network.buffers, network.element_bytes);

  MemoryNeeds& memory = network.memory;
  memory.input = Bytes(static_cast<double>(network.input_elements * network.element_bytes));
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const ModelLayer& described = network.model.layers[i];
    const auto bytes = static_cast<double>(network.parameter_bytes(described));
    memory.parameters += Bytes(described.parameters() * (bytes < 4 ? bytes + 4 : bytes));
    memory.gradients += Bytes(described.parameters() * bytes);
    memory.optimizer += Bytes(described.parameters() * 4 * optimizer_states(optimizer));
    memory.kept += kept_bytes(network, i);
  }
  memory.activations = Bytes(static_cast<double>(network.activation_bytes));
  memory.activation_gradients = Bytes(static_cast<double>(network.buffer_bytes));
  return network;
}

}  // namespace syncopate::capture
