#pragma once

#include "capture/node/device.hpp"

namespace syncopate::capture {

/// One thread of the processor, timed by its own CPU time, which leaves other processes out. Overlaps have more threads beside it.
class CpuNode : public NodeDevice {
 public:
  std::span<const std::string_view> dtypes(const Operation& operation) const override;
  std::unique_ptr<NodeTask> prepare(const Operation& operation, std::string_view dtype, const std::vector<std::int64_t>& tensors) override;
  Seconds time(NodeTask& task) override;
  std::vector<Overlap> overlaps() const override;
  OverlapTimes measure(const Overlap& overlap, std::int64_t bytes, int repetitions) override;
  DeviceDescription describe() const override;
};

}  // namespace syncopate::capture
