// The k largest magnitudes by radix selection. Each pass makes a histogram of the next digit, from the highest, over the numbers that
// match the k-th largest so far. A last pass takes all numbers that are at least as large.
#include <cub/block/block_scan.cuh>

#include "capture/cuda/launch.cuh"
#include "capture/node/cuda/kernels.hpp"

namespace syncopate::capture {

namespace {

constexpr int thread_numbers = 16;
constexpr unsigned int tile_numbers = thread_numbers * block_threads;

/// Calls body(index, number) for the numbers of this block's tile, which begins at `first`. All reads precede the calls.
template <class Body>
__device__ void for_each_in_tile(const float* numbers, std::int64_t first, std::int64_t count, Body body) {
  float values[thread_numbers];
#pragma unroll
  for (int j = 0; j < thread_numbers; ++j) {
    const std::int64_t i = first + j * block_threads + threadIdx.x;
    values[j] = i < count ? numbers[i] : 0.0F;
  }
#pragma unroll
  for (int j = 0; j < thread_numbers; ++j) {
    const std::int64_t i = first + j * block_threads + threadIdx.x;
    if (i < count) body(i, values[j]);
  }
}

__device__ std::uint32_t magnitude_of(float number) { return __float_as_uint(number) & magnitude_mask; }

__global__ void count_kernel(const float* numbers, std::int64_t count, Digit digit, const Selection* selection, std::uint32_t* bins) {
  __shared__ std::uint32_t own[digits[0].bins];
  for (unsigned int bin = threadIdx.x; bin < digit.bins; bin += blockDim.x) own[bin] = 0;
  __syncthreads();
  const std::uint32_t prefix = selection->magnitude;
  for (std::int64_t first = std::int64_t{blockIdx.x} * tile_numbers; first < count; first += std::int64_t{gridDim.x} * tile_numbers) {
    for_each_in_tile(numbers, first, count, [&](std::int64_t, float number) {
      const std::uint32_t magnitude = magnitude_of(number);
      if (digit.same_above(magnitude, prefix)) atomicAdd(&own[digit.of(magnitude)], 1U);
    });
  }
  __syncthreads();
  for (unsigned int bin = threadIdx.x; bin < digit.bins; bin += blockDim.x) {
    if (own[bin] > 0) atomicAdd(&bins[bin], own[bin]);
  }
}

constexpr int choose_threads = 1024;

/// Runs as one block. Finds the digit's bin with the k-th largest number, and how many numbers of that bin are kept.
__global__ void __launch_bounds__(choose_threads)
    choose_kernel(Digit digit, std::uint32_t k, Selection* selection, const std::uint32_t* bins) {
  constexpr int thread_bins = digits[0].bins / choose_threads;
  using Scan = cub::BlockScan<std::uint32_t, choose_threads>;
  __shared__ typename Scan::TempStorage storage;
  std::uint32_t counts[thread_bins];
  std::uint32_t larger[thread_bins];  // numbers in the bins above
  const std::uint32_t wanted = k > 0 ? k : selection->ties;
  for (int j = 0; j < thread_bins; ++j) {
    const unsigned int place = threadIdx.x * thread_bins + j;  // from the highest bin
    counts[j] = place < digit.bins ? bins[digit.bins - 1 - place] : 0;
  }
  Scan(storage).ExclusiveSum(counts, larger);
  __syncthreads();  // all threads have read `wanted`
  for (int j = 0; j < thread_bins; ++j) {
    if (larger[j] >= wanted || wanted > larger[j] + counts[j]) continue;
    selection->magnitude |= (digit.bins - 1 - (threadIdx.x * thread_bins + j)) << digit.shift;
    selection->ties = wanted - larger[j];
  }
}

/// Each block lists what it takes of a tile, then reserves the output for all of it with one atomic addition.
__global__ void take_kernel(const float* numbers, std::int64_t count, Selection* selection, float* values, std::uint32_t* indices) {
  __shared__ std::uint32_t list[tile_numbers];
  __shared__ std::uint32_t listed;
  __shared__ std::uint32_t place;
  const std::uint32_t threshold = selection->magnitude;
  const std::uint32_t ties = selection->ties;
  for (std::int64_t first = std::int64_t{blockIdx.x} * tile_numbers; first < count; first += std::int64_t{gridDim.x} * tile_numbers) {
    if (threadIdx.x == 0) listed = 0;
    __syncthreads();
    for_each_in_tile(numbers, first, count, [&](std::int64_t i, float number) {
      const std::uint32_t magnitude = magnitude_of(number);
      if (magnitude < threshold) return;
      if (magnitude == threshold && atomicAdd(&selection->ties_seen, 1U) >= ties) return;
      list[atomicAdd(&listed, 1U)] = static_cast<std::uint32_t>(i);
    });
    __syncthreads();
    if (threadIdx.x == 0 && listed > 0) place = atomicAdd(&selection->taken, listed);
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < listed; i += blockDim.x) {
      values[place + i] = numbers[list[i]];
      indices[place + i] = list[i];
    }
    __syncthreads();
  }
}

}  // namespace

void select_top(cudaStream_t stream, const float* numbers, std::int64_t count, std::int64_t k, Selection* selection, float* values,
                std::uint32_t* indices) {
  constexpr unsigned int most_blocks = 1024;  // each block adds its bins to the global bins
  const auto tiles = static_cast<unsigned int>((count + tile_numbers - 1) / tile_numbers);
  check(cudaMemsetAsync(selection, 0, sizeof(Selection), stream), "cudaMemsetAsync");
  auto wanted = static_cast<std::uint32_t>(k);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    std::uint32_t* bins = selection->bins[i];
    launch(stream, count_kernel, std::min(tiles, most_blocks), block_threads, numbers, count, digits[i], selection, bins);
    launch(stream, choose_kernel, 1, choose_threads, digits[i], wanted, selection, bins);
    wanted = 0;  // the next pass reads selection->ties, which this one wrote
  }
  launch(stream, take_kernel, tiles, block_threads, numbers, count, selection, values, indices);
}

}  // namespace syncopate::capture
