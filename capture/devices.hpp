#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "capture/device.hpp"

namespace syncopate::capture {

struct DeviceOptions {
  int threads = 1;  ///< of the processor
  int gpu = 0;      ///< among those that CUDA_VISIBLE_DEVICES allows
};

/// One row of the table of devices.
struct DeviceRow {
  std::string_view name;
  std::string_view meaning;
  std::string_view dtypes;  ///< separated by commas
  /// Throws DeviceError when this program was built without it or the machine has none.
  std::unique_ptr<Device> (*make)(const DeviceOptions& options);
  bool has_threads;                          ///< DeviceOptions::threads is for this device
  bool has_graphs;                           ///< Run::graph is
  int warmup;                                ///< default number of iterations before the measured ones
  Layout (*layout)(std::string_view dtype);  ///< of images
};

/// The table: to add a device, add a row.
std::span<const DeviceRow> devices();

/// The row of a device that is in the table.
const DeviceRow& find_device(std::string_view name);

}  // namespace syncopate::capture
