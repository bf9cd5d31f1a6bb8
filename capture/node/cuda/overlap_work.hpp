#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "capture/cuda/gpu.hpp"

namespace syncopate::capture {

/// Work on a GPU that can be queued in a stream time and again.
class CudaWork {
 public:
  virtual ~CudaWork() = default;
  virtual void queue() = 0;
};

/// A row of the tables of kinds of work. `bytes` are the size of gradients, a multiple of 16.
struct CudaWorkRow {
  std::string_view name;
  std::unique_ptr<CudaWork> (*make)(const Gpu& gpu, cudaStream_t stream, std::int64_t bytes);
};

/// The kinds of compute.
std::span<const CudaWorkRow> cuda_computes();
/// The kinds of work that stand for communication, but for additions in blocks.
std::span<const CudaWorkRow> cuda_communications();
/// Additions in so many blocks. However many they are, it lasts about as long, so that blocks seldom wait for a place.
std::unique_ptr<CudaWork> make_additions(const Gpu& gpu, cudaStream_t stream, std::int64_t bytes, int blocks);

}  // namespace syncopate::capture
