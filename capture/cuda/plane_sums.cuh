#pragma once

#include "capture/cuda/pack.cuh"

// Two sums over the pixels of each plane (a channel of a sample), of terms that a kernel's file defines.
//
// `Terms` has a member of<count, step>(plane, start), which returns what adds terms for `count` adjacent numbers: of plane
// `plane` if `step` is 0, and of the planes from `plane` on, one each, if it is 1. `start` is the place of the first pixel. The result's
// member add(place, first, second) adds the terms of the numbers from `place` on.
namespace syncopate::capture {

/// Of [samples, channels, pixels]: a plane lies in one piece, of which each block (a single warp, if `by_warp`) takes a slice.
template <int count, bool by_warp, class Terms>
__global__ void sum_planes_kernel(Terms terms, std::int64_t planes, std::int64_t pixels, float* first, float* second) {
  for (std::int64_t plane = blockIdx.x; plane < planes; plane += gridDim.x) {
    const std::int64_t start = plane * pixels;
    const auto adder = terms.template of<count, 0>(plane, start);
    Values<count> firsts = {};
    Values<count> seconds = {};
#pragma unroll 4  // so that several loads are under way
    for (std::int64_t pixel = count * (static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x); pixel < pixels;
         pixel += count * static_cast<std::int64_t>(gridDim.y) * blockDim.x)
      adder.add(start + pixel, firsts, seconds);
    float2 sums = {0.0F, 0.0F};
#pragma unroll
    for (int i = 0; i < count; ++i) {
      sums.x += firsts.at[i];
      sums.y += seconds.at[i];
    }
    if constexpr (by_warp) {
      sums = {over_warp<Sum>(sums.x), over_warp<Sum>(sums.y)};
    } else {
      sums = {over_block<Sum>(sums.x), over_block<Sum>(sums.y)};
    }
    if (threadIdx.x != 0) continue;
    atomicAdd(first + plane, sums.x);
    if (second != nullptr) atomicAdd(second + plane, sums.y);
  }
}

/// Of [samples, pixels, channels]: a block takes `count` channels per column of threads, and a slice of a sample's pixels.
template <int count, class Terms>
__global__ void sum_channels_kernel(Terms terms, std::int64_t samples, std::int64_t channels, std::int64_t pixels, float* first,
                                    float* second) {
  __shared__ float partial[2 * count][block_threads];
  const std::int64_t channel = count * (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x);
  const unsigned int thread = threadIdx.y * blockDim.x + threadIdx.x;
  for (std::int64_t sample = blockIdx.z; sample < samples; sample += gridDim.z) {
    const std::int64_t plane = sample * channels + channel;
    Values<count> firsts = {};
    Values<count> seconds = {};
    if (channel < channels) {
      const std::int64_t start = sample * pixels * channels + channel;
      const auto adder = terms.template of<count, 1>(plane, start);
#pragma unroll 4  // so that several loads are under way
      for (std::int64_t pixel = static_cast<std::int64_t>(blockIdx.y) * blockDim.y + threadIdx.y; pixel < pixels;
           pixel += static_cast<std::int64_t>(gridDim.y) * blockDim.y)
        adder.add(start + pixel * channels, firsts, seconds);
    }
#pragma unroll
    for (int i = 0; i < count; ++i) {
      partial[i][thread] = firsts.at[i];
      partial[count + i][thread] = seconds.at[i];
    }
    __syncthreads();
    if (threadIdx.y == 0 && channel < channels) {
#pragma unroll
      for (int i = 0; i < count; ++i) {
        for (unsigned int row = 1; row < blockDim.y; ++row) {
          firsts.at[i] += partial[i][row * blockDim.x + thread];
          seconds.at[i] += partial[count + i][row * blockDim.x + thread];
        }
        atomicAdd(first + plane + i, firsts.at[i]);
        if (second != nullptr) atomicAdd(second + plane + i, seconds.at[i]);
      }
    }
    __syncthreads();  // before the next sample's sums are written
  }
}

/// Overwrites both sums [samples, channels]; `second` may be null. All numbers that terms read begin at aligned places.
template <class Terms>
void sum_planes(cudaStream_t stream, const Terms& terms, const Planes& shape, float* first, float* second) {
  constexpr std::int64_t packs_of_thread = 16;
  constexpr std::int64_t most_planes = 1 << 30;
  constexpr std::int64_t most_samples = (1 << 16) - 1;
  const std::int64_t planes = shape.samples * shape.channels;
  for (float* sums : {first, second}) {
    if (sums != nullptr) check(cudaMemsetAsync(sums, 0, static_cast<std::size_t>(planes) * sizeof(float), stream), "cudaMemsetAsync");
  }
  const auto slices_of = [](std::int64_t packs_of_slice, std::int64_t all) {
    constexpr std::int64_t most_slices = 256;
    return static_cast<unsigned int>(std::clamp<std::int64_t>(all / packs_of_slice, 1, most_slices));
  };
  if (shape.channels_last) {
    with_pack(shape.channels, [&](auto count) {
      const std::int64_t all_columns = shape.channels / count;
      unsigned int columns = 1;
      while (columns < warp_threads && columns < all_columns) columns *= 2;
      const unsigned int rows = block_threads / columns;
      const dim3 grid(static_cast<unsigned int>((all_columns + columns - 1) / columns), slices_of(packs_of_thread * rows, shape.pixels),
                      static_cast<unsigned int>(std::min(shape.samples, most_samples)));
      launch(stream, sum_channels_kernel<count, Terms>, grid, dim3(columns, rows), terms, shape.samples, shape.channels, shape.pixels,
             first, second);
    });
    return;
  }
  with_pack(shape.pixels, [&](auto count) {
    const std::int64_t packs_of_plane = shape.pixels / count;
    const auto blocks = static_cast<unsigned int>(std::min(planes, most_planes));
    if (packs_of_plane <= packs_of_thread * warp_threads) {
      launch(stream, sum_planes_kernel<count, true, Terms>, dim3(blocks), dim3(warp_threads), terms, planes, shape.pixels, first, second);
    } else {
      launch(stream, sum_planes_kernel<count, false, Terms>, dim3(blocks, slices_of(packs_of_thread * block_threads, packs_of_plane)),
             dim3(block_threads), terms, planes, shape.pixels, first, second);
    }
  });
}

}  // namespace syncopate::capture
