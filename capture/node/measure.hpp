#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "capture/node/device.hpp"
#include "capture/recording.hpp"

namespace syncopate::capture {

struct NodeOptions {
  std::int64_t bytes = 0;             ///< of the gradients, in any format
  std::vector<std::int64_t> tensors;  ///< numbers in each packed tensor; empty: `bytes` in 161 equal ones
  int warmup = 3;
  int repetitions = 30;
  std::function<void()> progress = [] {};  ///< called after each measurement
};

/// How long an operation on gradients of `bytes` lasts.
struct Measurement {
  Operation operation;
  std::string dtype;
  std::int64_t bytes = 0;
  std::size_t tensors = 1;
  Spread seconds;

  SecondsPerByte per_byte() const { return SecondsPerByte(seconds.median.value / static_cast<double>(bytes)); }
  Rate bandwidth() const { return Rate(operation.traffic / per_byte().value); }
};

/// How long compute lasts alone and beside other work.
struct MeasuredOverlap {
  Overlap overlap;
  Spread alone;
  Spread beside;

  double slowdown() const { return beside.median / alone.median - 1; }
};

/// A measurement that failed, and why.
struct Failure {
  std::string name;
  std::string reason;
};

struct NodeMeasurements {
  std::vector<Measurement> operations;
  std::vector<MeasuredOverlap> overlaps;
  std::vector<Failure> failed;
};

/// How many measurements measure_node will try.
std::size_t measurement_count(const NodeDevice& device);

/// Measures whatever the device has. Throws DeviceError when nothing succeeds.
NodeMeasurements measure_node(NodeDevice& device, const NodeOptions& options);

}  // namespace syncopate::capture
