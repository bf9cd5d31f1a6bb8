#include "capture/cuda/pack.cuh"
#include "capture/cuda/places.hpp"

namespace syncopate::capture {

namespace {

/// How numbers of the input move: `wide` adjacent channels at once, of which `twins` copies are adjacent in the output.
template <int wide, int twins>
struct Move {
  static constexpr int from = wide;
  static constexpr int to = wide * twins;
};

template <class T, class Index, class Move>
__global__ void upsample_kernel(const T* input, T* output, Index count, Index width, Index scale, Index inner) {
  const Index row_step = width * scale * inner;
  for (Index i = Move::from * thread_index<Index>(); i < count; i += Move::from * thread_count<Index>()) {
    const Pack<T, Move::from> numbers = *reinterpret_cast<const Pack<T, Move::from>*>(input + i);
    Pack<T, Move::to> copies;
#pragma unroll
    for (int j = 0; j < Move::to; ++j) copies.at[j] = numbers.at[j % Move::from];
    T* row = output + upsampled_place(i, width, scale, inner);
    for (Index y = 0; y < scale; ++y, row += row_step) {
      for (Index x = 0; x < scale * inner; x += inner * (Move::to / Move::from)) *reinterpret_cast<Pack<T, Move::to>*>(row + x) = copies;
    }
  }
}

template <class T, class Index, class Move>
__global__ void upsample_backward_kernel(const T* output_gradient, T* input_gradient, Index count, Index width, Index scale, Index inner) {
  const Index row_step = width * scale * inner;
  for (Index i = Move::from * thread_index<Index>(); i < count; i += Move::from * thread_count<Index>()) {
    Values<Move::from> sums = {};
    const T* row = output_gradient + upsampled_place(i, width, scale, inner);
    for (Index y = 0; y < scale; ++y, row += row_step) {
      for (Index x = 0; x < scale * inner; x += inner * (Move::to / Move::from)) {
        const Values<Move::to> values = load_pack<Move::to>(row, x, static_cast<std::int64_t>(x) + Move::to);
#pragma unroll
        for (int j = 0; j < Move::to; ++j) sums.at[j % Move::from] += values.at[j];
      }
    }
    store_pack(input_gradient, i, count, sums);
  }
}

/// Calls body(zero of the type, zero of the index, how to move). With an even scale two copies of a number are adjacent and aligned.
template <class Body>
void with_move(const Queue& queue, const Image& from, std::int32_t scale, Body body) {
  const bool packed = from.channels_last && from.channels % pack_elements == 0;
  const bool pairs = !from.channels_last && scale % 2 == 0;
  with_type(queue.number, [&](auto zero) {
    with_index(from.elements() * scale * scale, [&](auto index) {
      if (packed) return body(zero, index, Move<pack_elements, 1>{});
      if (pairs) return body(zero, index, Move<1, 2>{});
      body(zero, index, Move<1, 1>{});
    });
  });
}

}  // namespace

void upsample(const Queue& queue, const void* input, const Image& from, void* output, std::int32_t scale) {
  with_move(queue, from, scale, [&](auto zero, auto index, auto move) {
    using T = decltype(zero);
    using Index = decltype(index);
    using How = decltype(move);
    launch(queue.stream, upsample_kernel<T, Index, How>, blocks_for(from.elements() / How::from), block_threads,
           static_cast<const T*>(input), static_cast<T*>(output), static_cast<Index>(from.elements()), static_cast<Index>(from.width),
           static_cast<Index>(scale), static_cast<Index>(from.channels_last ? from.channels : 1));
  });
}

void upsample_backward(const Queue& queue, const void* output_gradient, void* input_gradient, const Image& from, std::int32_t scale) {
  with_move(queue, from, scale, [&](auto zero, auto index, auto move) {
    using T = decltype(zero);
    using Index = decltype(index);
    using How = decltype(move);
    launch(queue.stream, upsample_backward_kernel<T, Index, How>, blocks_for(from.elements() / How::from), block_threads,
           static_cast<const T*>(output_gradient), static_cast<T*>(input_gradient), static_cast<Index>(from.elements()),
           static_cast<Index>(from.width), static_cast<Index>(scale), static_cast<Index>(from.channels_last ? from.channels : 1));
  });
}

}  // namespace syncopate::capture
