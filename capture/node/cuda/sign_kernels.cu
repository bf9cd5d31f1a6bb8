#include "capture/cuda/launch.cuh"
#include "capture/node/cuda/kernels.hpp"

namespace syncopate::capture {

namespace {

/// Words that a warp packs at once. More of them means more reads in flight.
constexpr unsigned int words_at_once = 4;
constexpr std::int64_t warp_numbers = words_at_once * warp_threads;

/// All threads of a warp take part in every step, because __ballot_sync needs all of them.
__global__ void sign_kernel(const float* numbers, std::int64_t count, std::uint32_t* words, double* mean) {
  const unsigned int lane = threadIdx.x % warp_threads;
  const std::int64_t words_in_all = (count + warp_threads - 1) / warp_threads;
  float sum = 0;
  for (std::int64_t first = thread_index() / warp_threads * warp_numbers; first < count;
       first += thread_count() / warp_threads * warp_numbers) {
    float values[words_at_once];
#pragma unroll
    for (unsigned int j = 0; j < words_at_once; ++j) {
      const std::int64_t i = first + j * warp_threads + lane;
      values[j] = i < count ? numbers[i] : 0.0F;
    }
#pragma unroll
    for (unsigned int j = 0; j < words_at_once; ++j) {
      const std::uint32_t word = __ballot_sync(0xFFFFFFFFU, __float_as_uint(values[j]) >> 31U);
      if (lane == j && first / warp_threads + j < words_in_all) words[first / warp_threads + j] = word;
      sum += fabsf(values[j]);
    }
  }
  sum = over_block<Sum>(sum);
  if (threadIdx.x == 0) atomicAdd(mean, static_cast<double>(sum) / static_cast<double>(count));
}

}  // namespace

void pack_signs(cudaStream_t stream, const float* numbers, std::int64_t count, std::uint32_t* words, double* mean) {
  constexpr unsigned int most_blocks = 2048;  // each block does one atomic addition to the mean
  check(cudaMemsetAsync(mean, 0, sizeof(double), stream), "cudaMemsetAsync");
  launch(stream, sign_kernel, std::min(blocks_for((count + words_at_once - 1) / words_at_once), most_blocks), block_threads, numbers, count,
         words, mean);
}

}  // namespace syncopate::capture
