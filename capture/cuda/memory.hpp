#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace syncopate::capture {

/// Memory of the device.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  /// Allocates memory and queues filling it with zeros in `stream`. Throws OutOfDeviceMemory.
  DeviceMemory(std::int64_t bytes, cudaStream_t stream);

  void* data() const { return memory_.get(); }
  void* at(std::int64_t offset) const { return static_cast<std::byte*>(memory_.get()) + offset; }
  template <class Value>
  Value* as() const {
    return static_cast<Value*>(memory_.get());
  }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, Free> memory_;
  std::size_t bytes_ = 0;
};

/// Copies from the host's memory, and waits until that is done.
void copy_to_device(void* to, const void* from, std::size_t bytes, cudaStream_t stream);
/// Copies to the host after all earlier work in the stream, and waits.
void copy_to_host(void* to, const void* from, std::size_t bytes, cudaStream_t stream);

}  // namespace syncopate::capture
