#pragma once

#include <cstdint>

#include "capture/cuda/backend.hpp"

namespace syncopate::capture {

/// Attention of every token to all tokens of its sample; a token holds the numbers of head 0, then those of head 1, and so on.
struct AttentionExtents {
  cudnnDataType_t type;  ///< of all tensors but the statistics and what lies in scratch memory, which are in fp32
  std::int64_t samples;
  std::int64_t heads;
  std::int64_t tokens;
  std::int64_t depth;  ///< numbers of a token and head
  std::int64_t step;   ///< numbers from a token of query, key and value, or of their gradients, to the next; of the output: heads * depth
  bool causal;         ///< each token attends to itself and earlier ones only

  std::int64_t rows() const { return samples * heads * tokens; }
};

/// Names of the tensors among a plan's arguments.
struct AttentionTensor {
  static constexpr std::int64_t query = 1;
  static constexpr std::int64_t key = 2;
  static constexpr std::int64_t value = 3;
  static constexpr std::int64_t output = 4;
  /// Of each row of scores [samples, heads, tokens] the logarithm of the sum of its exponentials: all that backward needs of the scores.
  static constexpr std::int64_t statistics = 5;
  static constexpr std::int64_t output_gradient = 6;
  static constexpr std::int64_t query_gradient = 7;
  static constexpr std::int64_t key_gradient = 8;
  static constexpr std::int64_t value_gradient = 9;
  static constexpr std::int64_t sums = 10;                ///< scratch memory of backward, a number per row
  static constexpr std::int64_t query_gradient_sum = 11;  ///< scratch memory of backward, as the query but dense
  static constexpr std::int64_t scale = 12;               ///< a number of the host, as the following: factor of the scores
  static constexpr std::int64_t masked = 13;              ///< score of a token that is not attended to: minus infinity
  static constexpr std::int64_t one = 14;                 ///< 1
};

/// The first cuDNN that runs these graphs: 9.15.1. Before, NVIDIA's cudnn-frontend refuses 9.10.0 and 9.10.1 for errors in kernels, and up
/// to 9.15.0 it adds a mask in backward where the number of tokens is no multiple of 128. PyTorch prefers cuDNN's attention since 9.15.1,
/// too.
constexpr std::size_t fused_attention_since = 91501;

/// softmax(scale * query key^T) value of every head, and the statistics, as a graph in the form that cuDNN has fused kernels for. It is the
/// form of NVIDIA's cudnn-frontend, through which PyTorch runs it on compute capabilities 9.0, 10.0 and 10.3; elsewhere PyTorch prefers its
/// own FlashAttention. T. Dao et al., "FlashAttention", NeurIPS'22, Algorithm 1.
BackendGraph attention_forward_graph(const AttentionExtents& extents);

/// The gradients of query, key and value, which the graph computes from these, the output, its gradient and the statistics. Algorithm 4.
BackendGraph attention_backward_graph(const AttentionExtents& extents);

}  // namespace syncopate::capture
