#include "capture/cuda/pack.cuh"
#include "capture/cuda/places.hpp"

namespace syncopate::capture {

namespace {

template <class T, class Index, int count>
__global__ void add_positions_kernel(const T* input, const T* weight, T* output, Index all, Index numbers) {
  for (Index first = count * thread_index<Index>(); first < all; first += count * thread_count<Index>()) {
    Values<count> sums = load_pack<count>(input, first, all);
    const Values<count> values = load_pack<count>(weight, first % numbers, numbers);
#pragma unroll
    for (int i = 0; i < count; ++i) sums.at[i] += values.at[i];
    store_pack(output, first, all, sums);
  }
}

template <class T, int count>
__global__ void sum_samples_kernel(const T* terms, T* sums, std::int64_t samples, std::int64_t numbers) {
  for (std::int64_t first = count * thread_index(); first < numbers; first += count * thread_count()) {
    Values<count> sum = {};
#pragma unroll 8  // so that several loads are under way
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      const Values<count> values = load_pack<count>(terms + sample * numbers, first, numbers);
#pragma unroll
      for (int i = 0; i < count; ++i) sum.at[i] += values.at[i];
    }
    store_pack(sums, first, numbers, sum);
  }
}

/// `count` adjacent pairs per step; `all` counts pairs.
template <class T, class Index, int count>
__global__ void rotate_kernel(const T* from, const Rotation* rotations, float direction, T* to, Index all, Index tokens, Index heads,
                              Index pairs) {
  for (Index i = count * thread_index<Index>(); i < all; i += count * thread_count<Index>()) {
    const RotaryPlace<Index> place = rotary_place(i, tokens, heads, pairs);
    const Index second = place.first + pairs;
    Values<count> firsts = load_pack<count>(from, place.first, static_cast<std::int64_t>(place.first) + count);
    Values<count> seconds = load_pack<count>(from, second, static_cast<std::int64_t>(second) + count);
#pragma unroll
    for (int j = 0; j < count; ++j) {
      const Rotation rotation = rotations[place.rotation + static_cast<Index>(j)];
      const float sine = direction * rotation.sine;
      const float x = firsts.at[j];
      const float y = seconds.at[j];
      firsts.at[j] = x * rotation.cosine - y * sine;
      seconds.at[j] = y * rotation.cosine + x * sine;
    }
    store_pack(to, place.first, static_cast<std::int64_t>(place.first) + count, firsts);
    store_pack(to, second, static_cast<std::int64_t>(second) + count, seconds);
  }
}

}  // namespace

void add_positions(const Queue& queue, const void* input, const void* weight, void* output, std::int64_t samples, std::int64_t numbers) {
  const std::int64_t all = samples * numbers;
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    with_index(all, [&](auto index) {
      using Index = decltype(index);
      with_pack(numbers, [&](auto count) {
        launch(queue.stream, add_positions_kernel<T, Index, count>, blocks_for(all / count), block_threads, static_cast<const T*>(input),
               static_cast<const T*>(weight), static_cast<T*>(output), static_cast<Index>(all), static_cast<Index>(numbers));
      });
    });
  });
}

void sum_samples(const Queue& queue, const void* terms, void* sums, std::int64_t samples, std::int64_t numbers) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    with_pack(numbers, [&](auto count) {
      launch(queue.stream, sum_samples_kernel<T, count>, blocks_for(numbers / count), block_threads, static_cast<const T*>(terms),
             static_cast<T*>(sums), samples, numbers);
    });
  });
}

void rotate(const Queue& queue, const void* from, const Heads& shape, const Rotation* rotations, bool back, void* to) {
  const std::int64_t all = shape.samples * shape.tokens * shape.heads * shape.pairs;
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    with_index(2 * all, [&](auto index) {
      using Index = decltype(index);
      with_pack(shape.pairs, [&](auto count) {
        launch(queue.stream, rotate_kernel<T, Index, count>, blocks_for(all / count), block_threads, static_cast<const T*>(from), rotations,
               back ? -1.0F : 1.0F, static_cast<T*>(to), static_cast<Index>(all), static_cast<Index>(shape.tokens),
               static_cast<Index>(shape.heads), static_cast<Index>(shape.pairs));
      });
    });
  });
}

}  // namespace syncopate::capture
