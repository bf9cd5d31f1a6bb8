#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "capture/device.hpp"
#include "capture/device_name.hpp"
#include "capture/node/operations.hpp"

namespace syncopate::capture {

/// One operation on gradients of fixed lengths. Owns the memory it works on.
class NodeTask {
 public:
  virtual ~NodeTask() = default;
  /// Sets the gradients: as many numbers as all tensors have together, tensor by tensor.
  virtual void write(std::span<const float> numbers) = 0;
  /// Sets the second operand of an addition. Other operations ignore it.
  virtual void write_added(std::span<const float> /*numbers*/) {}
  /// Runs the operation once. Work may be queued. An addition works in place, so the next run adds to the sum.
  virtual void run() = 0;
  /// The gradients as a receiver decodes them, same count: 0 where top_k sent nothing, plus or minus the mean magnitude for signs.
  virtual std::vector<float> result() = 0;
};

/// A kind of compute, and the work on gradients that goes on beside it.
struct Overlap {
  std::string compute;
  std::string beside;
  std::optional<int> blocks{};  ///< of threads on a GPU, threads on a CPU, that the work beside occupies; empty: it is not limited to some
  double share = 0;             ///< `blocks` / the GPU's multiprocessors or the CPU's processors
};

/// Additions beside `compute` in 1, 2, 4, 8, 16 and 32 blocks, but at most in `most`. `unit` is what a block is called. The device has
/// `places` for blocks.
std::vector<Overlap> additions_beside(std::string_view compute, std::string_view unit, int most, int places);

/// Duration of the compute in each repetition.
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
  /// The pairs of compute and other work that measure() can time; empty where nothing can run beside the compute.
  virtual std::vector<Overlap> overlaps() const { return {}; }
  /// Times compute of `overlap`, one of overlaps(), alone and beside the other work on gradients of `bytes`.
  virtual OverlapTimes measure(const Overlap& /*overlap*/, std::int64_t /*bytes*/, int /*repetitions*/) { return {}; }
  virtual DeviceDescription describe() const = 0;
};

/// Throws DeviceError when this program was built without the device, or the machine has none.
std::unique_ptr<NodeDevice> open_node_device(const DeviceName& name);

}  // namespace syncopate::capture
