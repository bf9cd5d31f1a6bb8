#include "capture/cuda/places.hpp"
#include "capture/cuda/plane_sums.cuh"

namespace syncopate::capture {

namespace {

struct Factors {
  static constexpr int most = static_cast<int>(most_factors);
  ElementFactor at[most];
  int count;
};

Factors factors_of(std::span<const ElementFactor> list) {
  Factors factors = {};
  for (const ElementFactor& factor : list) factors.at[factors.count++] = factor;
  return factors;
}

/// The numbers of a factor that belong to a pack of the images. If `whole`, a pack lies in one plane or, with channels last, in one pixel.
template <class T, class Index>
__device__ Values<> load_factor(const ElementFactor& factor, Index first, Index count, Index channels, Index pixels, bool channels_last,
                                bool whole) {
  const T* numbers = static_cast<const T*>(factor.numbers);
  if (!factor.per_channel) return load_pack(numbers, first, count);
  Values<> values = {};
  if (whole && channels_last) {
    const Index place = channel_place(first, channels, pixels, channels_last);
    return load_pack(numbers, place, static_cast<std::int64_t>(place) + pack_elements);
  }
  if (whole) {
    const float value = to_float(numbers[channel_place(first, channels, pixels, channels_last)]);
#pragma unroll
    for (int i = 0; i < pack_elements; ++i) values.at[i] = value;
    return values;
  }
#pragma unroll
  for (int i = 0; i < pack_elements; ++i) {
    const Index place = first + static_cast<Index>(i);
    if (place < count) values.at[i] = to_float(numbers[channel_place(place, channels, pixels, channels_last)]);
  }
  return values;
}

template <class T, class Index>
__global__ void multiply_kernel(Factors factors, Index count, Index channels, Index pixels, bool channels_last, bool whole, T* result) {
  for (Index first = pack_elements * thread_index<Index>(); first < count; first += pack_elements * thread_count<Index>()) {
    Values<> products = load_factor<T>(factors.at[0], first, count, channels, pixels, channels_last, whole);
#pragma unroll
    for (int factor = 1; factor < Factors::most; ++factor) {
      if (factor >= factors.count) break;
      const Values<> values = load_factor<T>(factors.at[factor], first, count, channels, pixels, channels_last, whole);
#pragma unroll
      for (int i = 0; i < pack_elements; ++i) products.at[i] *= values.at[i];
    }
    store_pack(result, first, count, products);
  }
}

/// Terms of plane_sums.cuh: products.
template <class T>
struct FactorTerms {
  Factors factors;

  template <int count, int step>
  struct Adder {
    Factors factors;
    std::int64_t plane;

    __device__ void add(std::int64_t place, Values<count>& products, Values<count>& /*unused*/) const {
      Values<count> product;
#pragma unroll
      for (int i = 0; i < count; ++i) product.at[i] = 1.0F;
#pragma unroll
      for (int factor = 0; factor < Factors::most; ++factor) {
        if (factor >= factors.count) break;
        const T* numbers = static_cast<const T*>(factors.at[factor].numbers);
        const bool per_channel = factors.at[factor].per_channel;
        if (per_channel && step == 0) {
          const float value = to_float(numbers[plane]);
#pragma unroll
          for (int i = 0; i < count; ++i) product.at[i] *= value;
        } else {
          const std::int64_t first = per_channel ? plane : place;
          const Values<count> values = load_pack<count>(numbers, first, first + count);
#pragma unroll
          for (int i = 0; i < count; ++i) product.at[i] *= values.at[i];
        }
      }
#pragma unroll
      for (int i = 0; i < count; ++i) products.at[i] += product.at[i];
    }
  };

  template <int count, int step>
  __device__ Adder<count, step> of(std::int64_t plane, std::int64_t /*start*/) const {
    return {factors, plane};
  }
};

}  // namespace

void multiply_elements(const Queue& queue, std::span<const ElementFactor> factors, const Planes& shape, void* result) {
  const std::int64_t count = shape.elements();
  const bool whole = (shape.channels_last ? shape.channels : shape.pixels) % pack_elements == 0;
  Factors now = factors_of(factors.first(std::min<std::size_t>(factors.size(), most_factors)));
  for (std::size_t next = static_cast<std::size_t>(now.count);;) {
    with_type(queue.number, [&](auto zero) {
      using T = decltype(zero);
      with_index(count, [&](auto index) {
        using Index = decltype(index);
        launch(queue.stream, multiply_kernel<T, Index>, blocks_for(packs(count)), block_threads, now, static_cast<Index>(count),
               static_cast<Index>(shape.channels), static_cast<Index>(shape.pixels), shape.channels_last, whole, static_cast<T*>(result));
      });
    });
    if (next == factors.size()) return;
    now = {{{result, false}}, 1};  // later factors are multiplied with it
    while (next < factors.size() && now.count < Factors::most) now.at[now.count++] = factors[next++];
  }
}

void sum_products(const Queue& queue, std::span<const ElementFactor> factors, const Planes& shape, float* sums) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    sum_planes(queue.stream, FactorTerms<T>{factors_of(factors)}, shape, sums, nullptr);
  });
}

}  // namespace syncopate::capture
