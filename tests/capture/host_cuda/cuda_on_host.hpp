#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

// What kernels use of CUDA, for a host that runs them: one block after the other, its threads in turns. A thread runs until it ends or
// waits for others. Included before a kernel's file, which is then compiled as C++.
namespace host_cuda {

/// Runs the kernel for all threads of all blocks.
void run_grid(dim3 grid, dim3 block, const std::function<void()>& kernel);

/// Whether threads take turns from the last to the first: results that depend on it are races.
extern bool backwards;

void wait_for_block();
float exchange(float value, unsigned int with_lane);

}  // namespace host_cuda

extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;

#undef __shared__
#define __shared__ static  // NOLINT(bugprone-reserved-identifier): one block runs at a time

inline void __syncthreads() { host_cuda::wait_for_block(); }  // NOLINT(bugprone-reserved-identifier)

inline float __shfl_xor_sync(unsigned int /*mask*/, float value, int distance) {  // NOLINT(bugprone-reserved-identifier)
  constexpr unsigned int lanes = 32;
  return host_cuda::exchange(value, threadIdx.x % lanes ^ static_cast<unsigned int>(distance));
}

template <class Number>
Number atomicAdd(Number* place, Number value) {
  const Number before = *place;
  *place += value;
  return before;
}

using std::max;
using std::min;

inline float rsqrtf(float value) { return 1.0F / std::sqrt(value); }

inline cudaError_t set_host_memory(void* memory, int value, std::size_t bytes, cudaStream_t /*stream*/) {
  std::memset(memory, value, bytes);
  return cudaSuccess;
}
#define cudaMemsetAsync set_host_memory
