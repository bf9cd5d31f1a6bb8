#pragma once

#include <cstdint>

#include "capture/cuda/kernels.hpp"
#include "capture/node/magnitude.hpp"

// Kernels on gradients. Each function queues work, and throws std::runtime_error when that fails. All memory is the device's.
namespace syncopate::capture {

/// A piece of a tensor, and where it belongs in the merged buffer.
struct PackPiece {
  static constexpr std::int64_t bytes_at_most = 1 << 15;
  const void* from;
  void* to;
  std::int64_t bytes;
};

/// Copies all pieces in one kernel. They begin and end at numbers of the given format.
void pack(cudaStream_t stream, Number number, const PackPiece* pieces, std::int64_t count);

/// Adds to fp32 sums in a few blocks of threads, which is how collectives' libraries leave room for compute. All numbers are added
/// `passes` times in one kernel. `count` is a multiple of 4.
void add_in_blocks(cudaStream_t stream, float* sums, const float* added, std::int64_t count, unsigned int blocks, unsigned int passes);

/// Packs signs as cpu_compress.hpp does, and leaves the mean magnitude.
void pack_signs(cudaStream_t stream, const float* numbers, std::int64_t count, std::uint32_t* words, double* mean);

/// Scratch memory of select_top.
struct Selection {
  std::uint32_t magnitude;  ///< of the smallest number that is kept
  std::uint32_t ties;       ///< how many of those that equal it are kept
  std::uint32_t ties_seen;
  std::uint32_t taken;
  std::uint32_t bins[digits.size()][digits[0].bins];  // NOLINT(*-avoid-c-arrays): read by the device
};

/// The k numbers of largest magnitude and their indices, in no order; of equal ones any. `count` is below 2^31.
void select_top(cudaStream_t stream, const float* numbers, std::int64_t count, std::int64_t k, Selection* selection, float* values,
                std::uint32_t* indices);

}  // namespace syncopate::capture
