#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "capture/cuda/handles.hpp"
#include "capture/cuda/memory.hpp"
#include "capture/cuda/nvml.hpp"
#include "capture/device.hpp"

namespace syncopate::capture {

/// An NVIDIA GPU, which the calling thread works with from now on, and a stream on it.
class Gpu {
 public:
  /// `index` counts those that CUDA_VISIBLE_DEVICES allows. Throws DeviceError when there is no such GPU, or it cannot be used.
  explicit Gpu(int index);

  cudaStream_t stream() const { return stream_.get(); }
  /// In the order of the stream. Throws OutOfDeviceMemory.
  DeviceMemory allocate(std::int64_t bytes) const { return {bytes, stream()}; }
  const std::string& name() const { return name_; }
  DeviceDescription describe() const;
  DeviceError unusable(std::string_view reason) const;

 private:
  int index_;
  std::string name_;
  std::unique_ptr<Nvml> nvml_;
  StreamHandle stream_;
};

/// A stream that waits for no other one.
StreamHandle make_stream();

/// How long a stream waits while the host queues the work to be timed.
constexpr std::uint64_t queueing_nanoseconds = 5'000'000;

void record(const EventHandle& event, cudaStream_t stream);
/// The same in a stream that is being captured into a graph: the event happens whenever the graph runs.
void record_in_graph(const EventHandle& event, cudaStream_t stream);
/// Time between two events that have happened.
Seconds elapsed(const EventHandle& from, const EventHandle& to);

}  // namespace syncopate::capture
