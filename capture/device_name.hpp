#pragma once

#include <string>
#include <string_view>

namespace syncopate::capture {

/// What --device names: "cuda" is the first GPU, "cuda:1" the second of those that CUDA_VISIBLE_DEVICES allows.
struct DeviceName {
  std::string kind;  ///< "cuda" or "cpu"
  int index = 0;     ///< of the GPU, from 0

  bool operator==(const DeviceName&) const = default;
};

/// Throws UsageError for anything but "cuda", "cuda:N" and "cpu".
DeviceName parse_device(std::string_view text);

}  // namespace syncopate::capture
