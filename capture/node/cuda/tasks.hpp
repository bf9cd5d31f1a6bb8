#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "capture/cuda/gpu.hpp"
#include "capture/cuda/op.hpp"
#include "capture/node/device.hpp"

namespace syncopate::capture {

/// Arguments of a task: the GPU, the number format and the gradients.
struct CudaGradients {
  const Gpu& gpu;
  Number number;
  std::vector<std::int64_t> tensors;  ///< numbers in each
  double share;                       ///< the share of numbers that top_k keeps

  std::int64_t count() const;
  std::int64_t bytes() const { return count() * number_bytes(number); }
};

Number number_of(std::string_view dtype);

/// Converts and copies numbers from the host to the device, or back, and waits. Device pointers are aligned to 16 bytes.
void write_numbers(const Gpu& gpu, std::span<const float> from, void* to, Number number);
std::vector<float> read_numbers(const Gpu& gpu, const void* from, Number number, std::int64_t count);

/// An operation of the GPU.
struct CudaOperation {
  std::string_view name;
  std::span<const std::string_view> dtypes;
  std::unique_ptr<NodeTask> (*make)(const CudaGradients& gradients);
};

/// Null if the GPU lacks the operation.
const CudaOperation* find_cuda_operation(std::string_view name);

}  // namespace syncopate::capture
