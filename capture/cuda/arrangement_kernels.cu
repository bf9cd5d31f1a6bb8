#include "capture/cuda/image.cuh"
#include "capture/cuda/launch.cuh"

namespace syncopate::capture {

namespace {

template <class Word, class Index>
__global__ void copy_rows_kernel(const Word* from, std::int64_t from_stride, Word* to, std::int64_t to_stride, Index count, Index width) {
  for (Index i = thread_index<Index>(); i < count; i += thread_count<Index>()) {
    const Index row = i / width;
    const Index column = i % width;
    to[row * to_stride + column] = from[row * from_stride + column];
  }
}

constexpr unsigned int tile_side = 32;
constexpr unsigned int tile_threads = block_threads / tile_side;  // of a column

/// A block moves a tile at a time, so that both the rows that it reads and those that it writes are adjacent numbers.
template <class T>
__global__ void transpose_kernel(const T* from, T* to, std::int64_t samples, std::int64_t rows, std::int64_t columns) {
  __shared__ T tile[tile_side][tile_side + 1];  // the additional column spreads a column over the banks of shared memory
  const std::int64_t across = (columns + tile_side - 1) / tile_side;
  const std::int64_t down = (rows + tile_side - 1) / tile_side;
  for (std::int64_t i = blockIdx.x; i < samples * down * across; i += gridDim.x) {
    const std::int64_t sample = i / (down * across);
    const std::int64_t first_row = i / across % down * tile_side;
    const std::int64_t first_column = i % across * tile_side;
    const std::int64_t start = sample * rows * columns;
    for (unsigned int y = threadIdx.y; y < tile_side; y += tile_threads) {
      const std::int64_t row = first_row + y;
      const std::int64_t column = first_column + threadIdx.x;
      if (row < rows && column < columns) tile[y][threadIdx.x] = from[start + row * columns + column];
    }
    __syncthreads();
    for (unsigned int y = threadIdx.y; y < tile_side; y += tile_threads) {
      const std::int64_t row = first_row + threadIdx.x;
      const std::int64_t column = first_column + y;
      if (row < rows && column < columns) to[start + column * rows + row] = tile[threadIdx.x][y];
    }
    __syncthreads();  // before the next tile is read
  }
}

template <class T, class Index>
__global__ void pad_shortcut_kernel(const T* input, Image from, T* output, Image to, Pair stride) {
  const int before = (to.channels - from.channels) / 2;
  const auto count = static_cast<Index>(to.elements());
  for (Index i = thread_index<Index>(); i < count; i += thread_count<Index>()) {
    const Pixel<Index> pixel = pixel_at(i, to);
    const int channel = static_cast<int>(pixel.channel) - before;
    if (channel >= 0 && channel < from.channels) {
      output[i] = input[place_of(pixel.sample, static_cast<Index>(channel), pixel.y * stride.height, pixel.x * stride.width, from)];
    } else {
      store(output + i, 0.0F);
    }
  }
}

template <class T, class Index>
__global__ void pad_shortcut_backward_kernel(const T* output_gradient, Image to, T* input_gradient, Image from, Pair stride) {
  const int before = (to.channels - from.channels) / 2;
  const auto count = static_cast<Index>(from.elements());
  for (Index i = thread_index<Index>(); i < count; i += thread_count<Index>()) {
    const Pixel<Index> pixel = pixel_at(i, from);
    const int y = pixel.y / stride.height;
    const int x = pixel.x / stride.width;
    if (y * stride.height == pixel.y && x * stride.width == pixel.x && y < to.height && x < to.width) {
      input_gradient[i] = output_gradient[place_of(pixel.sample, pixel.channel + static_cast<Index>(before), y, x, to)];
    } else {
      store(input_gradient + i, 0.0F);
    }
  }
}

template <class T, class Index>
__global__ void look_up_kernel(const T* table, const std::int32_t* ids, T* output, Index count, Index width, std::int64_t entries) {
  for (Index i = thread_index<Index>(); i < count; i += thread_count<Index>()) {
    const std::int64_t entry = ids[i / width] % entries;
    output[i] = table[entry * width + i % width];
  }
}

template <class T, class Index>
__global__ void look_up_backward_kernel(const T* output_gradient, const std::int32_t* ids, float* table_gradient, Index count, Index width,
                                        std::int64_t entries) {
  for (Index i = thread_index<Index>(); i < count; i += thread_count<Index>()) {
    const std::int64_t entry = ids[i / width] % entries;
    atomicAdd(table_gradient + entry * width + i % width, to_float(output_gradient[i]));
  }
}

/// Calls body(Word{}) for the widest word whose size divides every value that was or-ed into `places`.
template <class Body>
void with_word(std::uintptr_t places, Body body) {
  if (places % sizeof(uint4) == 0) return body(uint4{});
  if (places % sizeof(uint2) == 0) return body(uint2{});
  if (places % sizeof(std::uint32_t) == 0) return body(std::uint32_t{});
  body(std::uint16_t{});
}

}  // namespace

void copy_rows(const Queue& queue, const void* from, std::int64_t from_stride, void* to, std::int64_t to_stride, std::int64_t rows,
               std::int64_t width) {
  const std::int64_t bytes = number_bytes(queue.number);
  const auto places = reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to);
  with_word(places | static_cast<std::uintptr_t>((from_stride | to_stride | width) * bytes), [&](auto word) {
    using Word = decltype(word);
    const auto words = [bytes](std::int64_t numbers) { return numbers * bytes / static_cast<std::int64_t>(sizeof(Word)); };
    const std::int64_t count = rows * words(width);
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      launch(queue.stream, copy_rows_kernel<Word, Index>, blocks_for(count), block_threads, static_cast<const Word*>(from),
             words(from_stride), static_cast<Word*>(to), words(to_stride), static_cast<Index>(count), static_cast<Index>(words(width)));
    });
  });
}

void transpose(const Queue& queue, const void* from, void* to, std::int64_t samples, std::int64_t rows, std::int64_t columns) {
  const auto tiles = [](std::int64_t extent) { return (extent + tile_side - 1) / tile_side; };
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    launch(queue.stream, transpose_kernel<T>, blocks_for(samples * tiles(rows) * tiles(columns) * block_threads),
           dim3(tile_side, tile_threads), static_cast<const T*>(from), static_cast<T*>(to), samples, rows, columns);
  });
}

void pad_shortcut(const Queue& queue, const void* input, const Image& from, void* output, const Image& to, const Pair& stride) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    with_index(std::max(from.elements(), to.elements()), [&](auto index) {
      launch(queue.stream, pad_shortcut_kernel<T, decltype(index)>, blocks_for(to.elements()), block_threads, static_cast<const T*>(input),
             from, static_cast<T*>(output), to, stride);
    });
  });
}

void pad_shortcut_backward(const Queue& queue, const void* output_gradient, const Image& to, void* input_gradient, const Image& from,
                           const Pair& stride) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    with_index(std::max(from.elements(), to.elements()), [&](auto index) {
      launch(queue.stream, pad_shortcut_backward_kernel<T, decltype(index)>, blocks_for(from.elements()), block_threads,
             static_cast<const T*>(output_gradient), to, static_cast<T*>(input_gradient), from, stride);
    });
  });
}

void look_up(const Queue& queue, const void* table, const std::int32_t* ids, void* output, std::int64_t count, std::int64_t entries,
             std::int64_t width) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    with_index(count * width, [&](auto index) {
      using Index = decltype(index);
      launch(queue.stream, look_up_kernel<T, Index>, blocks_for(count * width), block_threads, static_cast<const T*>(table), ids,
             static_cast<T*>(output), static_cast<Index>(count * width), static_cast<Index>(width), entries);
    });
  });
}

void look_up_backward(const Queue& queue, const void* output_gradient, const std::int32_t* ids, float* table_gradient, std::int64_t count,
                      std::int64_t entries, std::int64_t width) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    with_index(count * width, [&](auto index) {
      using Index = decltype(index);
      launch(queue.stream, look_up_backward_kernel<T, Index>, blocks_for(count * width), block_threads,
             static_cast<const T*>(output_gradient), ids, table_gradient, static_cast<Index>(count * width), static_cast<Index>(width),
             entries);
    });
  });
}

}  // namespace syncopate::capture
