#include <fmt/format.h>

#include <array>

#include "capture/node/device.hpp"

namespace syncopate::capture {

namespace {

constexpr std::array block_counts = {1, 2, 4, 8, 16, 32};  // NCCL has a block per channel, and up to 32 channels

}  // namespace

std::vector<Overlap> additions_beside(std::string_view compute, std::string_view unit, int most, int places) {
  std::vector<Overlap> overlaps;
  for (const int blocks : block_counts) {
    if (blocks > most) break;
    overlaps.push_back({std::string(compute), fmt::format("additions in {} {}{}", blocks, unit, blocks == 1 ? "" : "s"), blocks,
                        static_cast<double>(blocks) / places});
  }
  return overlaps;
}

}  // namespace syncopate::capture
