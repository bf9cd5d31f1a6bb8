#pragma once

#include "capture/cuda/gpu.hpp"
#include "capture/node/device.hpp"

namespace syncopate::capture {

/// A GPU. Before timed work the device waits until the host has queued it, so that the time has no launches in it.
class CudaNode : public NodeDevice {
 public:
  /// Throws DeviceError when there is no such GPU, or it cannot be used.
  explicit CudaNode(int index);

  std::span<const std::string_view> dtypes(const Operation& operation) const override;
  std::unique_ptr<NodeTask> prepare(const Operation& operation, std::string_view dtype, const std::vector<std::int64_t>& tensors) override;
  Seconds time(NodeTask& task) override;
  std::vector<Overlap> overlaps() const override;
  OverlapTimes measure(const Overlap& overlap, std::int64_t bytes, int repetitions) override;
  DeviceDescription describe() const override { return gpu_.describe(); }

 private:
  Gpu gpu_;
  EventHandle begin_;
  EventHandle end_;
};

}  // namespace syncopate::capture
