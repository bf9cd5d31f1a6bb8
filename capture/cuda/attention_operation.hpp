#pragma once

#include <cstdint>
#include <optional>

#include "capture/cuda/backend.hpp"

namespace syncopate::capture {

/// Attention whose tensors lie as [samples, tokens, heads, depth].
struct AttentionExtents {
  cudnnDataType_t type;  ///< of all tensors but `statistics`
  std::int64_t samples;
  std::int64_t heads;
  std::int64_t tokens;
  std::int64_t depth;
};

/// Its tensors, or in backward also their gradients.
enum class AttentionTensor : std::int64_t {
  query = 1,
  key,
  value,
  output,
  statistics,  ///< of every row's softmax, in fp32: [samples, heads, tokens]
  scale,       ///< one fp32 number on the host, which multiplies Q K^T
  query_gradient,
  key_gradient,
  value_gradient,
  output_gradient
};

/// softmax(scale Q K^T) V as one operation of cuDNN, which keeps no matrix of tokens by tokens. On Hopper PyTorch's attention runs it, too.
/// Nothing if this program was built with a cuDNN before 9.19.
std::optional<BackendOperation> attention_operation(const AttentionExtents& extents);
std::optional<BackendOperation> attention_backward_operation(const AttentionExtents& extents);

}  // namespace syncopate::capture
