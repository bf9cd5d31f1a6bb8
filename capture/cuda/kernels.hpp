#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "capture/cuda/image.hpp"
#include "capture/optimizer.hpp"
#include "capture/rotary.hpp"

// Kernels of our own. Each function queues one, and throws std::runtime_error when that fails. Numbers are read and written in
// the queue's format and computed with in fp32; statistics, sums and what normalizations train are fp32 in memory, too.
namespace syncopate::capture {

/// How a number lies in memory.
enum class Number { fp32, fp16, bf16 };

constexpr std::int64_t number_bytes(Number number) { return number == Number::fp32 ? 4 : 2; }

struct Queue {
  cudaStream_t stream;
  Number number;
};

enum class Activation { relu, tanh, gelu, silu, sigmoid };

// Element by element.
void activate(const Queue& queue, Activation activation, const void* input, void* output, std::int64_t count);
/// Multiplies the output's gradient by the slope at the input.
void activate_backward(const Queue& queue, Activation activation, const void* input, const void* output_gradient, void* input_gradient,
                       std::int64_t count);
/// Dropout of the given iteration and layer, as capture/dropout.hpp has it.
void drop(const Queue& queue, const void* from, void* to, std::int64_t count, std::uint32_t iteration, std::uint32_t layer);
void sum(const Queue& queue, std::span<const void* const> terms, void* result, std::int64_t count);
/// Adds bias[channel] to numbers [outer, channels, inner].
void add_bias(const Queue& queue, const void* bias, void* numbers, std::int64_t outer, std::int64_t channels, std::int64_t inner);
/// A factor of a product of images, or one per sample and channel.
struct ElementFactor {
  const void* numbers;
  bool per_channel;
};
/// The product of all factors.
void multiply_elements(const Queue& queue, std::span<const ElementFactor> factors, const Planes& shape, void* result);
constexpr std::size_t most_factors = 8;
/// The sum over the pixels of the product of at most `most_factors` factors, for each sample and channel.
void sum_products(const Queue& queue, std::span<const ElementFactor> factors, const Planes& shape, float* sums);
void convert(cudaStream_t stream, const void* from, Number from_number, void* to, Number to_number, std::int64_t count);
/// Delays the stream by a time that does not depend on clock frequencies.
void delay(cudaStream_t stream, std::uint64_t nanoseconds);

/// A tensor for `descend`.
struct Descent {
  float* master;         ///< what is trained
  void* value;           ///< what the layers read; the master itself, or its rounding
  const void* gradient;  ///< in the format of the value
  float* first;          ///< momentum, or Adam's first moment
  float* second;         ///< Adam's second moment, or null
  std::int64_t count;
  Number number;  ///< of value and gradient
};

/// A piece of a tensor, from `first` on.
struct DescentPiece {
  static constexpr std::int64_t elements = 1 << 14;
  std::int64_t tensor;
  std::int64_t first;
};

/// The optimizer's step on all tensors; `step` is Adam's. Both lists lie on the device.
void descend(cudaStream_t stream, const Descent* tensors, const DescentPiece* pieces, std::int64_t piece_count, const AdamStep& step);

// Arrangement.
/// Rows of `width` numbers, the distance between which is `from_stride` and `to_stride`.
void copy_rows(const Queue& queue, const void* from, std::int64_t from_stride, void* to, std::int64_t to_stride, std::int64_t rows,
               std::int64_t width);
/// to[sample, column, row] = from[sample, row, column].
void transpose(const Queue& queue, const void* from, void* to, std::int64_t samples, std::int64_t rows, std::int64_t columns);
/// Every stride-th pixel, with as many zero channels on both sides as `output` has more.
void pad_shortcut(const Queue& queue, const void* input, const Image& from, void* output, const Image& to, const Pair& stride);
void pad_shortcut_backward(const Queue& queue, const void* output_gradient, const Image& to, void* input_gradient, const Image& from,
                           const Pair& stride);
/// Every pixel `scale` times in both directions; `from` are the smaller images.
void upsample(const Queue& queue, const void* input, const Image& from, void* output, std::int32_t scale);
void upsample_backward(const Queue& queue, const void* output_gradient, void* input_gradient, const Image& from, std::int32_t scale);
/// A row of the table [entries, width] for each id, taken modulo `entries`.
void look_up(const Queue& queue, const void* table, const std::int32_t* ids, void* output, std::int64_t count, std::int64_t entries,
             std::int64_t width);
/// Adds weight [numbers] to each of `samples`.
void add_positions(const Queue& queue, const void* input, const void* weight, void* output, std::int64_t samples, std::int64_t numbers);
/// The sum of all samples of `numbers` numbers.
void sum_samples(const Queue& queue, const void* terms, void* sums, std::int64_t samples, std::int64_t numbers);
/// Extents of [samples, tokens, heads, 2, pairs]: a pair has a number in each half of a head.
struct Heads {
  std::int64_t samples;
  std::int64_t tokens;
  std::int64_t heads;
  std::int64_t pairs;
};
/// Turns each pair by its token's rotation [tokens, pairs], or back.
void rotate(const Queue& queue, const void* from, const Heads& shape, const Rotation* rotations, bool back, void* to);
/// Adds each row to the one of `table_gradient` that its id names.
void look_up_backward(const Queue& queue, const void* output_gradient, const std::int32_t* ids, float* table_gradient, std::int64_t count,
                      std::int64_t entries, std::int64_t width);

// Pooling.
/// `winners` keeps for each output the pixel of its plane that was the largest of the window, the first of them.
void max_pool(const Queue& queue, const void* input, const Image& from, void* output, const Image& to, const Windows& windows,
              std::int32_t* winners);
void max_pool_backward(const Queue& queue, const void* output_gradient, const Image& to, void* input_gradient, const Image& from,
                       const Windows& windows, const std::int32_t* winners);
/// Means over what lies inside the image.
void average_pool(const Queue& queue, const void* input, const Image& from, void* output, const Image& to, const Windows& windows);
void average_pool_backward(const Queue& queue, const void* output_gradient, const Image& to, void* input_gradient, const Image& from,
                           const Windows& windows);
/// Of [samples, tokens, width]; `winners` keeps the token.
void max_over_time(const Queue& queue, const void* input, void* output, std::int64_t samples, std::int64_t tokens, std::int64_t width,
                   std::int32_t* winners);
void max_over_time_backward(const Queue& queue, const void* output_gradient, void* input_gradient, std::int64_t samples,
                            std::int64_t tokens, std::int64_t width, const std::int32_t* winners);

// Softmax.
/// Square matrices of attention's scores, one after the other.
struct Scores {
  std::int64_t matrices;
  std::int64_t tokens;
  std::int64_t stride;  ///< numbers from a row to the next one, at least `tokens`
  bool causal;          ///< row i has only its first i + 1 numbers; softmax sets the others to zero
};
/// Of each row, in place.
void softmax(const Queue& queue, void* numbers, const Scores& scores);
/// From the probabilities and, in place, their gradient.
void softmax_backward(const Queue& queue, const void* probabilities, void* gradient, const Scores& scores);

/// Logits [outer, classes, inner]; a row is one of the outer * inner lists of classes.
struct Logits {
  std::int64_t outer;
  std::int64_t classes;
  std::int64_t inner;
};
/// Adds the mean cross entropy of softmax to `loss`, and keeps the logarithm of each row's sum of exponentials.
void cross_entropy(const Queue& queue, const void* logits, const Logits& shape, const std::int32_t* labels, float* log_sums, double* loss);
void cross_entropy_backward(const Queue& queue, const void* logits, const Logits& shape, const std::int32_t* labels, const float* log_sums,
                            void* gradient);

}  // namespace syncopate::capture
