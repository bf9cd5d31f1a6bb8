#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <limits>

#include "capture/cuda/check.hpp"
#include "capture/cuda/kernels.hpp"
#include "capture/cuda/launch_kernel.cuh"

// What all kernels need: launches, formats of numbers, indices.
namespace syncopate::capture {

constexpr unsigned int block_threads = 256;

/// Number of blocks for `steps`, one thread per step up to a limit. Kernels loop over the rest.
inline unsigned int blocks_for(std::int64_t steps) {
  constexpr std::int64_t most = 1 << 16;
  return static_cast<unsigned int>(std::clamp<std::int64_t>((steps + block_threads - 1) / block_threads, 1, most));
}

/// Calls body(T{}) for the C++ type of a number.
template <class Body>
void with_type(Number number, Body body) {
  switch (number) {
    case Number::fp32: return body(float{});
    case Number::fp16: return body(__half{});
    case Number::bf16: return body(__nv_bfloat16{});
  }
}

/// Calls body(Index{}) for the type of indices up to `count`: division of 32 bits is several times faster. The largest index
/// plus all threads of a grid still fits.
template <class Body>
void with_index(std::int64_t count, Body body) {
  if (count <= std::numeric_limits<std::int32_t>::max()) return body(std::uint32_t{});
  body(std::int64_t{});
}

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(__half value) { return __half2float(value); }
__device__ inline float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }

__device__ inline void store(float* place, float value) { *place = value; }
__device__ inline void store(__half* place, float value) { *place = __float2half_rn(value); }
__device__ inline void store(__nv_bfloat16* place, float value) { *place = __float2bfloat16_rn(value); }

/// This thread's number in the grid, and the grid's number of threads.
template <class Index = std::int64_t>
__device__ Index thread_index() {
  return static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
}
template <class Index = std::int64_t>
__device__ Index thread_count() {
  return static_cast<Index>(gridDim.x) * blockDim.x;
}

/// The sum or maximum over the threads of a warp, for all of them.
struct Sum {
  static constexpr float none = 0.0F;
  __device__ static float combine(float a, float b) { return a + b; }
};
struct Maximum {
  static constexpr float none = -std::numeric_limits<float>::infinity();
  __device__ static float combine(float a, float b) { return fmaxf(a, b); }
};
constexpr unsigned int warp_threads = 32;

template <class Reduction>
__device__ float over_warp(float value) {
  for (unsigned int distance = warp_threads / 2; distance > 0; distance /= 2)
    value = Reduction::combine(value, __shfl_xor_sync(0xFFFFFFFFU, value, static_cast<int>(distance)));
  return value;
}

/// Likewise of a block of block_threads, all of which call it.
template <class Reduction>
__device__ float over_block(float value) {
  __shared__ float warps[warp_threads];
  const unsigned int lane = threadIdx.x % warp_threads;
  value = over_warp<Reduction>(value);
  if (lane == 0) warps[threadIdx.x / warp_threads] = value;
  __syncthreads();
  value = over_warp<Reduction>(lane < block_threads / warp_threads ? warps[lane] : Reduction::none);
  __syncthreads();  // before the next call writes
  return value;
}

}  // namespace syncopate::capture
