#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "capture/device.hpp"
#include "capture/device_name.hpp"
#include "capture/node/operations.hpp"

namespace syncopate::capture {

/// An operation on gradients of given lengths, with its memory.
class NodeTask {
 public:
  virtual ~NodeTask() = default;
  /// Sets the gradients: as many numbers as all tensors have together, tensor by tensor.
  virtual void write(std::span<const float> numbers) = 0;
  /// Sets what is added to them, where something is.
  virtual void write_added(std::span<const float> /*numbers*/) {}
  /// Does it once. Work may be queued. An addition's result is its next run's gradients.
  virtual void run() = 0;
  /// What a receiver makes of the outcome: as many numbers, 0 where none was sent, every sign as long as the mean magnitude.
  virtual std::vector<float> result() = 0;
};

/// A kind of compute, and the work on gradients that goes on beside it.
struct Overlap {
  std::string compute;
  std::string beside;
};

/// How long the compute took, time by time.
struct OverlapTimes {
  std::vector<Seconds> alone;
  std::vector<Seconds> beside;
};

/// A device whose work on gradients is timed.
class NodeDevice {
 public:
  virtual ~NodeDevice() = default;
  /// The formats in which the device has an operation; empty when it lacks it.
  virtual std::span<const std::string_view> dtypes(const Operation& operation) const = 0;
  /// `tensors` are the lengths of the gradients, in numbers. Throws when memory does not suffice.
  virtual std::unique_ptr<NodeTask> prepare(const Operation& operation, std::string_view dtype,
                                            const std::vector<std::int64_t>& tensors) = 0;
  /// Runs a task of this device once.
  virtual Seconds time(NodeTask& task) = 0;
  /// What can be measured of compute beside other work; nothing where one thread does everything.
  virtual std::vector<Overlap> overlaps() const { return {}; }
  virtual OverlapTimes measure(const Overlap& /*overlap*/, std::int64_t /*bytes*/, int /*repetitions*/) { return {}; }
  virtual DeviceDescription describe() const = 0;
};

/// Throws DeviceError when this program was built without the device, or the machine has none.
std::unique_ptr<NodeDevice> open_node_device(const DeviceName& name);

}  // namespace syncopate::capture
