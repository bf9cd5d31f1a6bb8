#pragma once

#include "capture/cuda/launch.cuh"

// Adjacent numbers that a thread moves at once.
namespace syncopate::capture {

/// How many there are, unless a kernel says otherwise. Arrays are aligned to them.
constexpr int pack_elements = 4;

template <int count = pack_elements>
struct Values {
  float at[count];
};

template <class T, int count = pack_elements>
struct alignas(count * sizeof(T)) Pack {
  T at[count];
};

// Loops over a pack are unrolled to keep its numbers in registers. With an index that is unknown at compile time they would go to local
// memory, which is three times slower.

/// The pack that begins at element `first`, cut off at `limit`.
template <int count = pack_elements, class T>
__device__ Values<count> load_pack(const T* numbers, std::int64_t first, std::int64_t limit) {
  Values<count> values = {};
  if (first + count <= limit) {
    const Pack<T, count> pack = *reinterpret_cast<const Pack<T, count>*>(numbers + first);
#pragma unroll
    for (int i = 0; i < count; ++i) values.at[i] = to_float(pack.at[i]);
  } else {
#pragma unroll
    for (int i = 0; i < count; ++i) values.at[i] = first + i < limit ? to_float(numbers[first + i]) : 0.0F;
  }
  return values;
}

template <class T, int count>
__device__ void store_pack(T* numbers, std::int64_t first, std::int64_t limit, const Values<count>& values) {
  if (first + count <= limit) {
    Pack<T, count> pack;
#pragma unroll
    for (int i = 0; i < count; ++i) store(&pack.at[i], values.at[i]);
    *reinterpret_cast<Pack<T, count>*>(numbers + first) = pack;
  } else {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if (first + i < limit) store(numbers + first + i, values.at[i]);
    }
  }
}

constexpr std::int64_t packs(std::int64_t count) { return (count + pack_elements - 1) / pack_elements; }

/// Calls body(count) for the size of the packs into which rows of `width` numbers can be divided: a constant of compile time.
template <class Body>
void with_pack(std::int64_t width, Body body) {
  if (width % pack_elements == 0) return body(std::integral_constant<int, pack_elements>{});
  body(std::integral_constant<int, 1>{});
}

}  // namespace syncopate::capture
