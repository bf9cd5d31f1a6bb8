#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "capture/optimizer.hpp"
#include "model/model.hpp"

namespace syncopate::capture {

/// How an image of [channels, height, width] lies in memory: NCHW or NHWC. Sequences are the same in both.
enum class Layout { channels_first, channels_last };

/// A piece of memory that backward needs for some of its steps only. Step 0 is the loss's, step 1 the last layer's, ...
struct Buffer {
  std::int64_t elements = 0;
  std::size_t born = 0;     ///< the step that writes it
  std::size_t dies = 0;     ///< the last step that reads it
  std::int64_t offset = 0;  ///< bytes from the start of all buffers; those that live at one time do not overlap
};

/// One layer of a network in training.
struct NetworkLayer {
  static constexpr std::size_t no_buffer = static_cast<std::size_t>(-1);
  static constexpr std::size_t no_table = static_cast<std::size_t>(-1);

  std::int64_t elements = 0;  ///< of the output, of the whole batch
  std::int64_t offset = 0;    ///< bytes from the start of all activations to the output, unless aliased
  bool aliased = false;       ///< the output lies where the first input does: a view of it, or written over it
  bool trains = false;        ///< it or a layer before it has parameters, so that backward runs through it
  /// Of a tied_linear: the embedding whose weight it multiplies with.
  std::size_t table = no_table;
  /// Of a tied_linear and its embedding: a layer after this one has begun the gradient of the shared weight, so that this one adds to it.
  bool adds_to_gradient = false;
  /// Where this layer's backward leaves the gradient of each input, or no_buffer where nothing before it trains.
  std::vector<std::size_t> input_gradients;
  /// What the readers of the output (or the loss) left; several are summed into `output_gradient` ...
  std::vector<std::size_t> contributions;
  std::vector<std::size_t> sums;  ///< ... after the backward of the last of these readers: of these layers, after this one's backward
  std::size_t output_gradient = no_buffer;  ///< no_buffer unless it trains
};

/// What training takes, besides what libraries choose for themselves.
struct MemoryNeeds {
  Bytes input;
  Bytes parameters;  ///< for half precision with the optimiser's copy in fp32
  Bytes gradients;   ///< of parameters
  Bytes optimizer;   ///< its state: momentum, or two moments
  Bytes activations;
  Bytes activation_gradients;  ///< at most at one time
  Bytes kept;  ///< by ops for their backward: attention's weights and their gradients or, in 16 bits, sums; the winners of maxima, ...

  Bytes total() const { return input + parameters + gradients + optimizer + activations + activation_gradients + kept; }
};

/// A model in training: its batch and number format, and where gradients flow. It knows no device.
struct Network {
  Model model;
  std::int64_t batch = 1;
  std::string dtype;  ///< "fp32", "tf32", "fp16" or "bf16"
  Layout layout = Layout::channels_first;
  Optimizer optimizer = Optimizer::sgd;
  bool fused_attention = true;     ///< in 16 bits attention is one operation, where the device has it; else products of matrices
  std::int64_t element_bytes = 4;  ///< of activations, and of the weights of layers that are no normalizations
  std::int64_t input_elements = 0;
  std::vector<NetworkLayer> layers;   ///< as model.layers
  std::vector<std::size_t> heads;     ///< layers whose output nobody reads: the loss does
  std::int64_t activation_bytes = 0;  ///< of all outputs together
  std::vector<Buffer> buffers;        ///< of activation gradients
  std::int64_t buffer_bytes = 0;      ///< of all buffers together
  std::int64_t largest_id = 0;        ///< the model's input is a list of ids below this; 0: it is of real numbers
  MemoryNeeds memory;

  const Shape& shape(std::size_t layer) const { return layer == Model::input_layer ? model.input : model.layers[layer].output; }
  /// Bytes of an element of a layer's parameters: those of normalizations stay in fp32.
  std::int64_t parameter_bytes(const ModelLayer& layer) const;
};

/// Whether an adaptive pooling's output divides its input, so that it is an ordinary pooling ...
bool has_equal_windows(const Shape& input, const ModelLayer& layer);
/// ... with this window and stride.
Attributes adaptive_window(const Shape& input, const ModelLayer& layer);

/// Throws InputError when `has` denies that the device has one of the network's ops.
void require_ops(const Network& network, std::string_view device, bool (*has)(std::string_view op));

/// Throws InputError for a batch that no machine could hold and for an embedding that reads no ids.
Network plan_network(Model model, std::int64_t batch, const std::string& dtype, Layout layout, Optimizer optimizer = Optimizer::sgd,
                     bool fused_attention = true);

}  // namespace syncopate::capture
