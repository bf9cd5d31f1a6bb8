#include "capture/cuda/launch.cuh"
#include "capture/node/cuda/kernels.hpp"

namespace syncopate::capture {

namespace {

template <class Word>
__device__ void copy_words(const PackPiece& piece, std::int64_t first_byte) {
  const auto* from = static_cast<const Word*>(piece.from);
  auto* to = static_cast<Word*>(piece.to);
  const auto words = piece.bytes / static_cast<std::int64_t>(sizeof(Word));
  for (std::int64_t i = first_byte / static_cast<std::int64_t>(sizeof(Word)) + threadIdx.x; i < words; i += blockDim.x) to[i] = from[i];
}

/// One block per piece. Copies the widest words that both addresses allow, then the rest number by number.
template <class T>
__global__ void pack_kernel(const PackPiece* pieces) {
  using Wide = uint4;
  const PackPiece piece = pieces[blockIdx.x];
  const auto places = reinterpret_cast<std::uintptr_t>(piece.from) | reinterpret_cast<std::uintptr_t>(piece.to);
  const bool aligned = places % sizeof(Wide) == 0;
  if (aligned) copy_words<Wide>(piece, 0);
  const std::int64_t done = aligned ? piece.bytes / static_cast<std::int64_t>(sizeof(Wide)) * static_cast<std::int64_t>(sizeof(Wide)) : 0;
  copy_words<T>(piece, done);
}

__device__ void add_to(float4& sums, const float4& added) {
  sums.x += added.x;
  sums.y += added.y;
  sums.z += added.z;
  sums.w += added.w;
}

__device__ void add_once(float4* sums, const float4* added, std::int64_t count) {
  constexpr int at_once = 4;
  const std::int64_t stride = thread_count();
  std::int64_t i = thread_index();
  for (; i + (at_once - 1) * stride < count; i += at_once * stride) {
    float4 now[at_once];
    float4 more[at_once];
#pragma unroll
    for (int j = 0; j < at_once; ++j) {
      now[j] = sums[i + j * stride];
      more[j] = added[i + j * stride];
    }
#pragma unroll
    for (int j = 0; j < at_once; ++j) {
      add_to(now[j], more[j]);
      sums[i + j * stride] = now[j];
    }
  }
  for (; i < count; i += stride) add_to(sums[i], added[i]);
}

__global__ void add_kernel(float4* sums, const float4* added, std::int64_t count, unsigned int passes) {
  for (unsigned int pass = 0; pass < passes; ++pass) add_once(sums, added, count);
}

}  // namespace

void pack(cudaStream_t stream, Number number, const PackPiece* pieces, std::int64_t count) {
  with_type(number,
            [&](auto zero) { launch(stream, pack_kernel<decltype(zero)>, static_cast<unsigned int>(count), block_threads, pieces); });
}

void add_in_blocks(cudaStream_t stream, float* sums, const float* added, std::int64_t count, unsigned int blocks, unsigned int passes) {
  constexpr unsigned int threads = 512;
  constexpr std::int64_t wide = sizeof(float4) / sizeof(float);
  launch(stream, add_kernel, blocks, threads, reinterpret_cast<float4*>(sums), reinterpret_cast<const float4*>(added), count / wide,
         passes);
}

}  // namespace syncopate::capture
