#pragma once

#include <vector>

#include "capture/node/cuda/kernels.hpp"
#include "capture/node/cuda/tasks.hpp"

namespace syncopate::capture {

/// Between the host's memory, pinned or pageable, and the device's.
class HostCopy : public NodeTask {
 public:
  HostCopy(const CudaGradients& gradients, cudaMemcpyKind direction, bool pinned);
  void write(std::span<const float> numbers) override;
  void run() override;
  std::vector<float> result() override;

 private:
  const Gpu& gpu_;
  cudaMemcpyKind direction_;
  std::vector<float> pageable_;
  Owned<void*, cudaFreeHost> pinned_;
  std::span<float> host_;  // pinned or pageable
  DeviceMemory device_;
};

/// Packs separate tensors into one buffer, by one kernel or by a copy per tensor.
class Pack : public NodeTask {
 public:
  Pack(const CudaGradients& gradients, bool each);
  void write(std::span<const float> numbers) override;
  void run() override;
  std::vector<float> result() override;

 private:
  /// Bytes from the starts of both memories.
  struct Tensor {
    std::int64_t apart;
    std::int64_t merged;
    std::int64_t bytes;
  };
  void list_pieces();
  void copy_each() const;

  const Gpu& gpu_;
  Number number_;
  bool each_;
  DeviceMemory apart_;
  DeviceMemory merged_;
  std::vector<Tensor> tensors_;
  DeviceMemory pieces_;
  std::int64_t piece_count_ = 0;
};

}  // namespace syncopate::capture
