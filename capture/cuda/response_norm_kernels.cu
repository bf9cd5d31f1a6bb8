#include "capture/cuda/launch.cuh"
#include "capture/cuda/normalization_kernels.hpp"

namespace syncopate::capture {

namespace {

/// The window of channels around a channel: `begin` inclusive, `end` exclusive.
struct Neighbours {
  std::int64_t begin;
  std::int64_t end;
};

__device__ Neighbours neighbours(std::int64_t channel, std::int64_t channels, std::int64_t size) {
  const std::int64_t begin = channel - size / 2;
  return {begin > 0 ? begin : 0, begin + size < channels ? begin + size : channels};
}

template <class T, class Index>
__global__ void response_norm_kernel(const T* input, Index count, Index channels, Index inner, ResponseConstants constants, float* bases,
                                     T* output) {
  for (Index i = thread_index<Index>(); i < count; i += thread_count<Index>()) {
    const std::int64_t channel = i / inner % channels;
    const Neighbours near = neighbours(channel, channels, constants.size);
    float squares = 0.0F;
    for (std::int64_t other = near.begin; other < near.end; ++other) {
      const float x = to_float(input[i + (other - channel) * static_cast<std::int64_t>(inner)]);
      squares += x * x;
    }
    const float base = constants.k + constants.alpha / static_cast<float>(constants.size) * squares;
    bases[i] = base;
    store(output + i, to_float(input[i]) * powf(base, -constants.beta));
  }
}

/// The derivative of each neighbour's x / base^beta with respect to this x. Requires an odd size, which makes neighbourhood symmetric.
template <class T, class Index>
__global__ void response_norm_backward_kernel(const T* input, Index count, Index channels, Index inner, ResponseConstants constants,
                                              const float* bases, const T* output_gradient, T* input_gradient) {
  for (Index i = thread_index<Index>(); i < count; i += thread_count<Index>()) {
    const std::int64_t channel = i / inner % channels;
    const Neighbours near = neighbours(channel, channels, constants.size);
    float sum = 0.0F;
    for (std::int64_t other = near.begin; other < near.end; ++other) {
      const std::int64_t place = i + (other - channel) * static_cast<std::int64_t>(inner);
      sum += to_float(output_gradient[place]) * to_float(input[place]) * powf(bases[place], -constants.beta - 1.0F);
    }
    const float own = to_float(output_gradient[i]) * powf(bases[i], -constants.beta);
    const float slope = 2.0F * constants.alpha * constants.beta / static_cast<float>(constants.size);
    store(input_gradient + i, own - slope * to_float(input[i]) * sum);
  }
}

}  // namespace

void response_norm(const Queue& queue, const void* input, std::int64_t outer, std::int64_t channels, std::int64_t inner,
                   const ResponseConstants& constants, float* bases, void* output) {
  const std::int64_t count = outer * channels * inner;
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      launch(queue.stream, response_norm_kernel<T, Index>, blocks_for(count), block_threads, static_cast<const T*>(input),
             static_cast<Index>(count), static_cast<Index>(channels), static_cast<Index>(inner), constants, bases, static_cast<T*>(output));
    });
  });
}

void response_norm_backward(const Queue& queue, const void* input, std::int64_t outer, std::int64_t channels, std::int64_t inner,
                            const ResponseConstants& constants, const float* bases, const void* output_gradient, void* input_gradient) {
  const std::int64_t count = outer * channels * inner;
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      launch(queue.stream, response_norm_backward_kernel<T, Index>, blocks_for(count), block_threads, static_cast<const T*>(input),
             static_cast<Index>(count), static_cast<Index>(channels), static_cast<Index>(inner), constants, bases,
             static_cast<const T*>(output_gradient), static_cast<T*>(input_gradient));
    });
  });
}

}  // namespace syncopate::capture
