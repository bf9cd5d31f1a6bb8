#include "capture/cuda/normalization_kernels.hpp"
#include "capture/cuda/places.hpp"
#include "capture/cuda/plane_sums.cuh"

namespace syncopate::capture {

namespace {

/// Terms of plane_sums.cuh: distances from the plane's first number, and their squares. Their sums give means and variances without loss of
/// digits, in one pass.
template <class T>
struct Distances {
  const T* input;

  template <int count>
  struct Adder {
    const T* input;
    Values<count> origins;

    __device__ void add(std::int64_t place, Values<count>& distances, Values<count>& squares) const {
      const Values<count> values = load_pack<count>(input, place, place + count);
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const float distance = values.at[i] - origins.at[i];
        distances.at[i] += distance;
        squares.at[i] += distance * distance;
      }
    }
  };

  template <int count, int step>
  __device__ Adder<count> of(std::int64_t /*plane*/, std::int64_t start) const {
    Adder<count> adder = {input, {}};
#pragma unroll
    for (int i = 0; i < count; ++i) adder.origins.at[i] = to_float(input[start + i * step]);
    return adder;
  }
};

/// Likewise: gradients, and their products with the normalized input.
template <class T>
struct Products {
  const T* input;
  const T* gradient;
  const float2* moments;
  std::int64_t group_channels;

  template <int count>
  struct Adder {
    const T* input;
    const T* gradient;
    Values<count> means;
    Values<count> inverses;

    __device__ void add(std::int64_t place, Values<count>& gradients, Values<count>& products) const {
      const Values<count> x = load_pack<count>(input, place, place + count);
      const Values<count> g = load_pack<count>(gradient, place, place + count);
#pragma unroll
      for (int i = 0; i < count; ++i) {
        gradients.at[i] += g.at[i];
        products.at[i] += g.at[i] * (x.at[i] - means.at[i]) * inverses.at[i];
      }
    }
  };

  template <int count, int step>
  __device__ Adder<count> of(std::int64_t plane, std::int64_t /*start*/) const {
    Adder<count> adder = {input, gradient, {}, {}};
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const float2 m = moments[(plane + i * step) / group_channels];
      adder.means.at[i] = m.x;
      adder.inverses.at[i] = m.y;
    }
    return adder;
  }
};

/// A warp for each group of each sample: mean and inverse deviation, and for each plane factor and summand of its numbers.
template <class T>
__global__ void group_moments_kernel(const T* input, Planes shape, std::int64_t groups, const float* scale, const float* shift,
                                     float epsilon, GroupStatistics statistics) {
  const auto lane = static_cast<std::int64_t>(threadIdx.x % warp_threads);
  const std::int64_t width = shape.channels / groups;
  const auto pixels = static_cast<float>(shape.pixels);
  const auto mean_of = [&](std::int64_t plane) {
    const std::int64_t sample = plane / shape.channels;
    const std::int64_t start = shape.channels_last ? sample * shape.channels * shape.pixels + plane - sample * shape.channels  //
                                                   : plane * shape.pixels;
    return to_float(input[start]) + statistics.sums[plane] / pixels;
  };
  for (std::int64_t group = thread_index() / warp_threads; group < shape.samples * groups; group += thread_count() / warp_threads) {
    float sum = 0.0F;
    for (std::int64_t plane = group * width + lane; plane < (group + 1) * width; plane += warp_threads) sum += mean_of(plane);
    const float mean = over_warp<Sum>(sum) / static_cast<float>(width);
    float squares = 0.0F;
    for (std::int64_t plane = group * width + lane; plane < (group + 1) * width; plane += warp_threads) {
      const float distance = mean_of(plane) - mean;
      squares += statistics.products[plane] - statistics.sums[plane] * statistics.sums[plane] / pixels + pixels * distance * distance;
    }
    const float variance = fmaxf(over_warp<Sum>(squares) / (static_cast<float>(width) * pixels), 0.0F);
    const float inverse = rsqrtf(variance + epsilon);
    if (lane == 0) statistics.moments[group] = {mean, inverse};
    for (std::int64_t plane = group * width + lane; plane < (group + 1) * width; plane += warp_threads) {
      const std::int64_t channel = plane % shape.channels;
      const float factor = inverse * scale[channel];
      statistics.factors[plane] = {factor, shift[channel] - mean * factor, 0.0F, 0.0F};
    }
  }
}

/// A warp for each group of each sample: what the input's gradient consists of, and additions to the gradients of scale and shift.
__global__ void group_slopes_kernel(Planes shape, std::int64_t groups, const float* scale, GroupStatistics statistics,
                                    float* scale_gradient, float* shift_gradient) {
  const auto lane = static_cast<std::int64_t>(threadIdx.x % warp_threads);
  const std::int64_t width = shape.channels / groups;
  const float share = 1.0F / (static_cast<float>(width) * static_cast<float>(shape.pixels));
  for (std::int64_t group = thread_index() / warp_threads; group < shape.samples * groups; group += thread_count() / warp_threads) {
    float sum = 0.0F;
    float products = 0.0F;
    for (std::int64_t plane = group * width + lane; plane < (group + 1) * width; plane += warp_threads) {
      const std::int64_t channel = plane % shape.channels;
      atomicAdd(shift_gradient + channel, statistics.sums[plane]);
      atomicAdd(scale_gradient + channel, statistics.products[plane]);
      sum += scale[channel] * statistics.sums[plane];
      products += scale[channel] * statistics.products[plane];
    }
    sum = share * over_warp<Sum>(sum);
    products = share * over_warp<Sum>(products);
    const float mean = statistics.moments[group].x;
    const float inverse = statistics.moments[group].y;
    const float of_input = -inverse * inverse * products;
    for (std::int64_t plane = group * width + lane; plane < (group + 1) * width; plane += warp_threads)
      statistics.factors[plane] = {inverse * scale[plane % shape.channels], of_input, -inverse * sum - mean * of_input, 0.0F};
  }
}

/// Factors for the numbers of a pack. If `whole`, it lies in one plane or, with channels last, in one pixel.
template <class Index>
__device__ float4 factors_at(const float4* factors, Index first, int i, Index plane, Index channels, Index pixels, bool channels_last,
                             bool whole) {
  if (whole) return factors[channels_last ? plane + static_cast<Index>(i) : plane];
  return factors[channel_place(first + static_cast<Index>(i), channels, pixels, channels_last)];
}

template <class T, class Index>
__global__ void group_norm_kernel(const T* input, const float4* factors, Index count, Index channels, Index pixels, bool channels_last,
                                  bool whole, T* output) {
  for (Index first = pack_elements * thread_index<Index>(); first < count; first += pack_elements * thread_count<Index>()) {
    Values<> values = load_pack(input, first, count);
    const Index plane = channel_place(first, channels, pixels, channels_last);
#pragma unroll
    for (int i = 0; i < pack_elements; ++i) {
      if (first + static_cast<Index>(i) >= count) break;
      const float4 f = factors_at(factors, first, i, plane, channels, pixels, channels_last, whole);
      values.at[i] = f.x * values.at[i] + f.y;
    }
    store_pack(output, first, count, values);
  }
}

template <class T, class Index>
__global__ void group_norm_backward_kernel(const T* input, const T* output_gradient, const float4* factors, Index count, Index channels,
                                           Index pixels, bool channels_last, bool whole, T* input_gradient) {
  for (Index first = pack_elements * thread_index<Index>(); first < count; first += pack_elements * thread_count<Index>()) {
    const Values<> x = load_pack(input, first, count);
    Values<> g = load_pack(output_gradient, first, count);
    const Index plane = channel_place(first, channels, pixels, channels_last);
#pragma unroll
    for (int i = 0; i < pack_elements; ++i) {
      if (first + static_cast<Index>(i) >= count) break;
      const float4 f = factors_at(factors, first, i, plane, channels, pixels, channels_last, whole);
      g.at[i] = f.x * g.at[i] + f.y * x.at[i] + f.z;
    }
    store_pack(input_gradient, first, count, g);
  }
}

bool packs_are_whole(const Planes& shape) { return (shape.channels_last ? shape.channels : shape.pixels) % pack_elements == 0; }

}  // namespace

void group_norm(const Queue& queue, const void* input, const Planes& shape, std::int64_t groups, const float* scale, const float* shift,
                float epsilon, const GroupStatistics& statistics, void* output) {
  const std::int64_t count = shape.elements();
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    const auto* x = static_cast<const T*>(input);
    sum_planes(queue.stream, Distances<T>{x}, shape, statistics.sums, statistics.products);
    launch(queue.stream, group_moments_kernel<T>, blocks_for(shape.samples * groups * warp_threads), block_threads, x, shape, groups, scale,
           shift, epsilon, statistics);
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      launch(queue.stream, group_norm_kernel<T, Index>, blocks_for(packs(count)), block_threads, x, statistics.factors,
             static_cast<Index>(count), static_cast<Index>(shape.channels), static_cast<Index>(shape.pixels), shape.channels_last,
             packs_are_whole(shape), static_cast<T*>(output));
    });
  });
}

void group_norm_backward(const Queue& queue, const void* input, const Planes& shape, std::int64_t groups, const void* output_gradient,
                         const float* scale, const GroupStatistics& statistics, void* input_gradient, float* scale_gradient,
                         float* shift_gradient) {
  const std::int64_t count = shape.elements();
  for (float* gradient : {scale_gradient, shift_gradient})
    check(cudaMemsetAsync(gradient, 0, static_cast<std::size_t>(shape.channels) * sizeof(float), queue.stream), "cudaMemsetAsync");
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    const auto* x = static_cast<const T*>(input);
    const auto* g = static_cast<const T*>(output_gradient);
    sum_planes(queue.stream, Products<T>{x, g, statistics.moments, shape.channels / groups}, shape, statistics.sums, statistics.products);
    launch(queue.stream, group_slopes_kernel, blocks_for(shape.samples * groups * warp_threads), block_threads, shape, groups, scale,
           statistics, scale_gradient, shift_gradient);
    if (input_gradient == nullptr) return;
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      launch(queue.stream, group_norm_backward_kernel<T, Index>, blocks_for(packs(count)), block_threads, x, g, statistics.factors,
             static_cast<Index>(count), static_cast<Index>(shape.channels), static_cast<Index>(shape.pixels), shape.channels_last,
             packs_are_whole(shape), static_cast<T*>(input_gradient));
    });
  });
}

}  // namespace syncopate::capture
