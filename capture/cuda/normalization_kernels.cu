#include "capture/cuda/normalization_kernels.hpp"
#include "capture/cuda/pack.cuh"

namespace syncopate::capture {

namespace {

constexpr unsigned int tile_columns = 32;
constexpr unsigned int tile_rows = block_threads / tile_columns;

/// Adds two sums over each column to `first` and `second`. A block handles tile_columns columns of some of the rows.
template <class Terms>
__global__ void sum_columns_kernel(Terms terms, Rows shape, float* first, float* second) {
  __shared__ float2 partial[tile_rows][tile_columns];
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * tile_columns + threadIdx.x;
  float2 sums = {0.0F, 0.0F};
  if (column < shape.width) {
#pragma unroll 4  // so that several loads are under way
    for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * tile_rows + threadIdx.y; row < shape.rows;
         row += static_cast<std::int64_t>(gridDim.y) * tile_rows) {
      const float2 term = terms(row, column, shape.width);
      sums.x += term.x;
      sums.y += term.y;
    }
  }
  partial[threadIdx.y][threadIdx.x] = sums;
  __syncthreads();
  if (threadIdx.y != 0 || column >= shape.width) return;
  for (unsigned int i = 1; i < tile_rows; ++i) {
    sums.x += partial[i][threadIdx.x].x;
    sums.y += partial[i][threadIdx.x].y;
  }
  if (first != nullptr) atomicAdd(first + column, sums.x);
  if (second != nullptr) atomicAdd(second + column, sums.y);
}

/// Zeros the sums first. Either may be null.
template <class Terms>
void sum_terms(cudaStream_t stream, const Terms& terms, const Rows& shape, float* first, float* second) {
  const auto bytes = static_cast<std::size_t>(shape.width) * sizeof(float);
  if (first != nullptr) check(cudaMemsetAsync(first, 0, bytes, stream), "cudaMemsetAsync");
  if (second != nullptr) check(cudaMemsetAsync(second, 0, bytes, stream), "cudaMemsetAsync");
  constexpr std::int64_t rows_of_thread = 16;
  constexpr std::int64_t most_slices = 256;
  const std::int64_t slices = std::clamp<std::int64_t>(shape.rows / (rows_of_thread * tile_rows), 1, most_slices);
  const dim3 grid(static_cast<unsigned int>((shape.width + tile_columns - 1) / tile_columns), static_cast<unsigned int>(slices));
  launch(stream, sum_columns_kernel<Terms>, grid, dim3(tile_columns, tile_rows), terms, shape, first, second);
}

template <class T>
struct Plain {
  const T* numbers;
  __device__ float2 operator()(std::int64_t row, std::int64_t column, std::int64_t width) const {
    return {to_float(numbers[row * width + column]), 0.0F};
  }
};

/// Squared distances from the means.
template <class T>
struct Squares {
  const T* input;
  const float* sums;
  float share;
  __device__ float2 operator()(std::int64_t row, std::int64_t column, std::int64_t width) const {
    const float distance = to_float(input[row * width + column]) - share * sums[column];
    return {distance * distance, 0.0F};
  }
};

/// The gradients of shift and scale: sums of the output's gradients, and of their products with the normalized input.
template <class T>
struct ByRow {
  const T* input;
  const T* gradient;
  RowStatistics statistics;
  __device__ float2 operator()(std::int64_t row, std::int64_t column, std::int64_t width) const {
    const float g = to_float(gradient[row * width + column]);
    return {g, g * (to_float(input[row * width + column]) - statistics.mean[row]) * statistics.inverse_deviation[row]};
  }
};

/// The gradient of the scale without a mean.
template <class T>
struct ByRoot {
  const T* input;
  const T* gradient;
  const float* inverses;
  __device__ float2 operator()(std::int64_t row, std::int64_t column, std::int64_t width) const {
    return {to_float(gradient[row * width + column]) * to_float(input[row * width + column]) * inverses[row], 0.0F};
  }
};

/// Mean and inverse deviation of one channel.
struct Moments {
  float mean;
  float inverse_deviation;
};

__device__ Moments moments(const ChannelStatistics& statistics, std::int64_t channel, float share, float epsilon) {
  return {share * statistics.sum[channel], rsqrtf(share * statistics.squares[channel] + epsilon)};
}

template <class T>
struct ByChannel {
  const T* input;
  const T* gradient;
  ChannelStatistics statistics;
  float share;
  float epsilon;
  __device__ float2 operator()(std::int64_t row, std::int64_t column, std::int64_t width) const {
    const float g = to_float(gradient[row * width + column]);
    const Moments m = moments(statistics, column, share, epsilon);
    return {g, g * (to_float(input[row * width + column]) - m.mean) * m.inverse_deviation};
  }
};

/// A block for each row.
template <class T>
__global__ void layer_norm_kernel(const T* input, Rows shape, const float* scale, const float* shift, float epsilon,
                                  RowStatistics statistics, T* output) {
  const float share = 1.0F / static_cast<float>(shape.width);
  for (std::int64_t row = blockIdx.x; row < shape.rows; row += gridDim.x) {
    const T* from = input + row * shape.width;
    float sum = 0.0F;
    for (std::int64_t i = threadIdx.x; i < shape.width; i += blockDim.x) sum += to_float(from[i]);
    const float mean = share * over_block<Sum>(sum);
    float squares = 0.0F;
    for (std::int64_t i = threadIdx.x; i < shape.width; i += blockDim.x) {
      const float distance = to_float(from[i]) - mean;
      squares += distance * distance;
    }
    const float inverse_deviation = rsqrtf(share * over_block<Sum>(squares) + epsilon);
    for (std::int64_t i = threadIdx.x; i < shape.width; i += blockDim.x)
      store(output + row * shape.width + i, (to_float(from[i]) - mean) * inverse_deviation * scale[i] + shift[i]);
    if (threadIdx.x == 0) {
      statistics.mean[row] = mean;
      statistics.inverse_deviation[row] = inverse_deviation;
    }
  }
}

template <class T>
__global__ void layer_norm_backward_kernel(const T* input, Rows shape, const T* output_gradient, const float* scale,
                                           RowStatistics statistics, T* input_gradient) {
  const float share = 1.0F / static_cast<float>(shape.width);
  for (std::int64_t row = blockIdx.x; row < shape.rows; row += gridDim.x) {
    const T* x = input + row * shape.width;
    const T* g = output_gradient + row * shape.width;
    const float mean = statistics.mean[row];
    const float inverse_deviation = statistics.inverse_deviation[row];
    float sum = 0.0F;
    float products = 0.0F;
    for (std::int64_t i = threadIdx.x; i < shape.width; i += blockDim.x) {
      const float scaled = to_float(g[i]) * scale[i];
      sum += scaled;
      products += scaled * (to_float(x[i]) - mean) * inverse_deviation;
    }
    sum = share * over_block<Sum>(sum);
    products = share * over_block<Sum>(products);
    for (std::int64_t i = threadIdx.x; i < shape.width; i += blockDim.x) {
      const float normalized = (to_float(x[i]) - mean) * inverse_deviation;
      store(input_gradient + row * shape.width + i, inverse_deviation * (to_float(g[i]) * scale[i] - sum - normalized * products));
    }
  }
}

/// A block for each row, which consists of packs.
template <class T, int count>
__global__ void rms_norm_kernel(const T* input, Rows shape, const float* scale, float epsilon, float* inverses, T* output) {
  const float share = 1.0F / static_cast<float>(shape.width);
  for (std::int64_t row = blockIdx.x; row < shape.rows; row += gridDim.x) {
    const T* from = input + row * shape.width;
    float squares = 0.0F;
    for (std::int64_t first = count * static_cast<std::int64_t>(threadIdx.x); first < shape.width; first += count * blockDim.x) {
      const Values<count> x = load_pack<count>(from, first, shape.width);
#pragma unroll
      for (int i = 0; i < count; ++i) squares += x.at[i] * x.at[i];
    }
    const float inverse = rsqrtf(share * over_block<Sum>(squares) + epsilon);
    for (std::int64_t first = count * static_cast<std::int64_t>(threadIdx.x); first < shape.width; first += count * blockDim.x) {
      Values<count> x = load_pack<count>(from, first, shape.width);
      const Values<count> factors = load_pack<count>(scale, first, shape.width);
#pragma unroll
      for (int i = 0; i < count; ++i) x.at[i] *= inverse * factors.at[i];
      store_pack(output + row * shape.width, first, shape.width, x);
    }
    if (threadIdx.x == 0) inverses[row] = inverse;
  }
}

template <class T, int count>
__global__ void rms_norm_backward_kernel(const T* input, Rows shape, const T* output_gradient, const float* scale, const float* inverses,
                                         T* input_gradient) {
  const float share = 1.0F / static_cast<float>(shape.width);
  for (std::int64_t row = blockIdx.x; row < shape.rows; row += gridDim.x) {
    const T* from = input + row * shape.width;
    const T* gradient = output_gradient + row * shape.width;
    const float inverse = inverses[row];
    float products = 0.0F;
    for (std::int64_t first = count * static_cast<std::int64_t>(threadIdx.x); first < shape.width; first += count * blockDim.x) {
      const Values<count> x = load_pack<count>(from, first, shape.width);
      const Values<count> g = load_pack<count>(gradient, first, shape.width);
      const Values<count> factors = load_pack<count>(scale, first, shape.width);
#pragma unroll
      for (int i = 0; i < count; ++i) products += g.at[i] * factors.at[i] * x.at[i];
    }
    const float pull = share * over_block<Sum>(products) * inverse * inverse;
    for (std::int64_t first = count * static_cast<std::int64_t>(threadIdx.x); first < shape.width; first += count * blockDim.x) {
      const Values<count> x = load_pack<count>(from, first, shape.width);
      Values<count> g = load_pack<count>(gradient, first, shape.width);
      const Values<count> factors = load_pack<count>(scale, first, shape.width);
#pragma unroll
      for (int i = 0; i < count; ++i) g.at[i] = inverse * (g.at[i] * factors.at[i] - pull * x.at[i]);
      store_pack(input_gradient + row * shape.width, first, shape.width, g);
    }
  }
}

template <class T, class Index>
__global__ void batch_norm_kernel(const T* input, Rows shape, const float* scale, const float* shift, float epsilon, float running_share,
                                  ChannelStatistics statistics, T* output) {
  const float share = 1.0F / static_cast<float>(shape.rows);
  const auto width = static_cast<Index>(shape.width);
  const auto count = static_cast<Index>(shape.rows * shape.width);
  for (Index i = thread_index<Index>(); i < count; i += thread_count<Index>()) {
    const Index channel = i % width;
    const Moments m = moments(statistics, channel, share, epsilon);
    store(output + i, (to_float(input[i]) - m.mean) * m.inverse_deviation * scale[channel] + shift[channel]);
    if (i < width) {
      statistics.running_mean[i] += running_share * (m.mean - statistics.running_mean[i]);
      statistics.running_variance[i] += running_share * (share * statistics.squares[i] - statistics.running_variance[i]);
    }
  }
}

/// `sums` and `products` are the gradients of shift and scale.
template <class T, class Index>
__global__ void batch_norm_backward_kernel(const T* input, Rows shape, const T* output_gradient, const float* scale, float epsilon,
                                           ChannelStatistics statistics, const float* sums, const float* products, T* input_gradient) {
  const float share = 1.0F / static_cast<float>(shape.rows);
  const auto width = static_cast<Index>(shape.width);
  const auto count = static_cast<Index>(shape.rows * shape.width);
  for (Index i = thread_index<Index>(); i < count; i += thread_count<Index>()) {
    const Index channel = i % width;
    const Moments m = moments(statistics, channel, share, epsilon);
    const float normalized = (to_float(input[i]) - m.mean) * m.inverse_deviation;
    const float gradient = to_float(output_gradient[i]) - share * sums[channel] - normalized * share * products[channel];
    store(input_gradient + i, scale[channel] * m.inverse_deviation * gradient);
  }
}

}  // namespace

void sum_columns(const Queue& queue, const void* numbers, const Rows& shape, float* sums) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    sum_terms(queue.stream, Plain<T>{static_cast<const T*>(numbers)}, shape, sums, nullptr);
  });
}

void layer_norm(const Queue& queue, const void* input, const Rows& shape, const float* scale, const float* shift, float epsilon,
                const RowStatistics& statistics, void* output) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    launch(queue.stream, layer_norm_kernel<T>, blocks_for(shape.rows * block_threads), block_threads, static_cast<const T*>(input), shape,
           scale, shift, epsilon, statistics, static_cast<T*>(output));
  });
}

void layer_norm_backward(const Queue& queue, const void* input, const Rows& shape, const void* output_gradient, const float* scale,
                         const RowStatistics& statistics, void* input_gradient, float* scale_gradient, float* shift_gradient) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    const auto* x = static_cast<const T*>(input);
    const auto* g = static_cast<const T*>(output_gradient);
    if (input_gradient != nullptr) {
      launch(queue.stream, layer_norm_backward_kernel<T>, blocks_for(shape.rows * block_threads), block_threads, x, shape, g, scale,
             statistics, static_cast<T*>(input_gradient));
    }
    sum_terms(queue.stream, ByRow<T>{x, g, statistics}, shape, shift_gradient, scale_gradient);
  });
}

void rms_norm(const Queue& queue, const void* input, const Rows& shape, const float* scale, float epsilon, float* inverses, void* output) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    with_pack(shape.width, [&](auto count) {
      launch(queue.stream, rms_norm_kernel<T, count>, blocks_for(shape.rows * block_threads), block_threads, static_cast<const T*>(input),
             shape, scale, epsilon, inverses, static_cast<T*>(output));
    });
  });
}

void rms_norm_backward(const Queue& queue, const void* input, const Rows& shape, const void* output_gradient, const float* scale,
                       const float* inverses, void* input_gradient, float* scale_gradient) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    const auto* x = static_cast<const T*>(input);
    const auto* g = static_cast<const T*>(output_gradient);
    if (input_gradient != nullptr) {
      with_pack(shape.width, [&](auto count) {
        launch(queue.stream, rms_norm_backward_kernel<T, count>, blocks_for(shape.rows * block_threads), block_threads, x, shape, g, scale,
               inverses, static_cast<T*>(input_gradient));
      });
    }
    sum_terms(queue.stream, ByRoot<T>{x, g, inverses}, shape, scale_gradient, nullptr);
  });
}

void batch_norm(const Queue& queue, const void* input, const Rows& shape, const float* scale, const float* shift, float epsilon,
                float running_share, const ChannelStatistics& statistics, void* output) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    const auto* x = static_cast<const T*>(input);
    const float share = 1.0F / static_cast<float>(shape.rows);
    sum_terms(queue.stream, Plain<T>{x}, shape, statistics.sum, nullptr);
    sum_terms(queue.stream, Squares<T>{x, statistics.sum, share}, shape, statistics.squares, nullptr);
    with_index(shape.rows * shape.width, [&](auto index) {
      launch(queue.stream, batch_norm_kernel<T, decltype(index)>, blocks_for(shape.rows * shape.width), block_threads, x, shape, scale,
             shift, epsilon, running_share, statistics, static_cast<T*>(output));
    });
  });
}

void batch_norm_backward(const Queue& queue, const void* input, const Rows& shape, const void* output_gradient, const float* scale,
                         float epsilon, const ChannelStatistics& statistics, void* input_gradient, float* scale_gradient,
                         float* shift_gradient) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    const auto* x = static_cast<const T*>(input);
    const auto* g = static_cast<const T*>(output_gradient);
    const float share = 1.0F / static_cast<float>(shape.rows);
    sum_terms(queue.stream, ByChannel<T>{x, g, statistics, share, epsilon}, shape, shift_gradient, scale_gradient);
    if (input_gradient == nullptr) return;
    with_index(shape.rows * shape.width, [&](auto index) {
      launch(queue.stream, batch_norm_backward_kernel<T, decltype(index)>, blocks_for(shape.rows * shape.width), block_threads, x, shape, g,
             scale, epsilon, statistics, shift_gradient, scale_gradient, static_cast<T*>(input_gradient));
    });
  });
}

}  // namespace syncopate::capture
