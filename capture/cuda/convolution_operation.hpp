#pragma once

#include <array>
#include <cstdint>

#include "capture/cuda/backend.hpp"

namespace syncopate::capture {

enum class ConvolutionPass : std::uint8_t { forward, backward_data, backward_filter };

/// A convolution's tensors and steps.
struct ConvolutionExtents {
  cudnnDataType_t type;                ///< of all tensors; sums are in fp32
  bool channels_last;                  ///< of all tensors in memory
  std::array<std::int64_t, 4> input;   ///< samples, channels, height, width
  std::array<std::int64_t, 4> filter;  ///< output channels, input channels of a group, height, width
  std::array<std::int64_t, 4> output;  ///< as input
  std::array<std::int64_t, 2> pad;     ///< vertical, horizontal
  std::array<std::int64_t, 2> stride;
};

/// One pass of a convolution as a graph of one operation.
BackendGraph convolution_graph(ConvolutionPass pass, const ConvolutionExtents& extents);

/// What a pass runs on: input, filter and output, or the gradients of those that it reads or computes.
std::array<PlanArgument, 3> convolution_arguments(void* input, void* filter, void* output);

}  // namespace syncopate::capture
