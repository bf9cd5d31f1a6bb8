#include "capture/cuda/image.cuh"
#include "capture/cuda/launch.cuh"

namespace syncopate::capture {

namespace {

/// The windows along one dimension.
struct Axis {
  int input;
  int output;
  int kernel;  // 0: adaptive
  int stride;
  int pad;
};

/// A range: `begin` inclusive, `end` exclusive.
struct Span {
  int begin;
  int end;
  __device__ int length() const { return end - begin; }
};

/// The part of an output's window that lies inside the input. It is never empty.
__device__ Span window(const Axis& axis, int output) {
  if (axis.kernel == 0) {
    if (axis.output == 1) return {0, axis.input};
    const std::int64_t first = output * static_cast<std::int64_t>(axis.input);
    return {static_cast<int>(first / axis.output), static_cast<int>((first + axis.input + axis.output - 1) / axis.output)};
  }
  const int begin = output * axis.stride - axis.pad;
  return {max(begin, 0), min(begin + axis.kernel, axis.input)};
}

/// The outputs whose windows contain `input`.
__device__ Span readers(const Axis& axis, int input) {
  if (axis.kernel == 0) {
    if (axis.output == 1) return {0, 1};
    const std::int64_t first = input * static_cast<std::int64_t>(axis.output);
    return {static_cast<int>(first / axis.input), static_cast<int>((first + axis.output + axis.input - 1) / axis.input)};
  }
  const int padded = input + axis.pad;
  const int begin = padded < axis.kernel ? 0 : (padded - axis.kernel) / axis.stride + 1;
  return {begin, min(padded / axis.stride + 1, axis.output)};
}

/// Arguments of the pooling kernels.
struct Geometry {
  Image from;
  Image to;
  Axis y;
  Axis x;
};

Geometry geometry(const Image& from, const Image& to, const Windows& windows) {
  return {from,
          to,
          {from.height, to.height, windows.kernel.height, windows.stride.height, windows.pad.height},
          {from.width, to.width, windows.kernel.width, windows.stride.width, windows.pad.width}};
}

template <class T, class Index>
__global__ void max_pool_kernel(const T* input, T* output, Geometry g, std::int32_t* winners) {
  const auto count = static_cast<Index>(g.to.elements());
  for (Index i = thread_index<Index>(); i < count; i += thread_count<Index>()) {
    const Pixel<Index> pixel = pixel_at(i, g.to);
    const Span ys = window(g.y, pixel.y);
    const Span xs = window(g.x, pixel.x);
    float largest = -std::numeric_limits<float>::infinity();
    std::int32_t winner = ys.begin * g.from.width + xs.begin;
    for (int y = ys.begin; y < ys.end; ++y) {
      for (int x = xs.begin; x < xs.end; ++x) {
        const float value = to_float(input[place_of(pixel.sample, pixel.channel, y, x, g.from)]);
        if (value > largest) {
          largest = value;
          winner = y * g.from.width + x;
        }
      }
    }
    store(output + i, largest);
    winners[i] = winner;
  }
}

template <class T, class Index>
__global__ void max_pool_backward_kernel(const T* output_gradient, T* input_gradient, Geometry g, const std::int32_t* winners) {
  const auto count = static_cast<Index>(g.from.elements());
  for (Index i = thread_index<Index>(); i < count; i += thread_count<Index>()) {
    const Pixel<Index> pixel = pixel_at(i, g.from);
    const Span ys = readers(g.y, pixel.y);
    const Span xs = readers(g.x, pixel.x);
    const std::int32_t own = pixel.y * g.from.width + pixel.x;
    float sum = 0.0F;
    for (int y = ys.begin; y < ys.end; ++y) {
      for (int x = xs.begin; x < xs.end; ++x) {
        const Index place = place_of(pixel.sample, pixel.channel, y, x, g.to);
        if (winners[place] == own) sum += to_float(output_gradient[place]);
      }
    }
    store(input_gradient + i, sum);
  }
}

template <class T, class Index>
__global__ void average_pool_kernel(const T* input, T* output, Geometry g) {
  const auto count = static_cast<Index>(g.to.elements());
  for (Index i = thread_index<Index>(); i < count; i += thread_count<Index>()) {
    const Pixel<Index> pixel = pixel_at(i, g.to);
    const Span ys = window(g.y, pixel.y);
    const Span xs = window(g.x, pixel.x);
    float sum = 0.0F;
    for (int y = ys.begin; y < ys.end; ++y) {
      for (int x = xs.begin; x < xs.end; ++x) sum += to_float(input[place_of(pixel.sample, pixel.channel, y, x, g.from)]);
    }
    store(output + i, sum / static_cast<float>(ys.length() * xs.length()));
  }
}

template <class T, class Index>
__global__ void average_pool_backward_kernel(const T* output_gradient, T* input_gradient, Geometry g) {
  const auto count = static_cast<Index>(g.from.elements());
  for (Index i = thread_index<Index>(); i < count; i += thread_count<Index>()) {
    const Pixel<Index> pixel = pixel_at(i, g.from);
    const Span ys = readers(g.y, pixel.y);
    const Span xs = readers(g.x, pixel.x);
    float sum = 0.0F;
    for (int y = ys.begin; y < ys.end; ++y) {
      const int rows = window(g.y, y).length();
      for (int x = xs.begin; x < xs.end; ++x) {
        const float gradient = to_float(output_gradient[place_of(pixel.sample, pixel.channel, y, x, g.to)]);
        sum += gradient / static_cast<float>(rows * window(g.x, x).length());
      }
    }
    store(input_gradient + i, sum);
  }
}

template <class T>
__global__ void max_over_time_kernel(const T* input, T* output, std::int64_t samples, std::int64_t tokens, std::int64_t width,
                                     std::int32_t* winners) {
  for (std::int64_t i = thread_index(); i < samples * width; i += thread_count()) {
    const T* feature = input + i / width * tokens * width + i % width;
    float largest = to_float(feature[0]);
    std::int32_t winner = 0;
    for (std::int64_t token = 1; token < tokens; ++token) {
      const float value = to_float(feature[token * width]);
      if (value > largest) {
        largest = value;
        winner = static_cast<std::int32_t>(token);
      }
    }
    store(output + i, largest);
    winners[i] = winner;
  }
}

template <class T>
__global__ void max_over_time_backward_kernel(const T* output_gradient, T* input_gradient, std::int64_t samples, std::int64_t tokens,
                                              std::int64_t width, const std::int32_t* winners) {
  for (std::int64_t i = thread_index(); i < samples * tokens * width; i += thread_count()) {
    const std::int64_t place = i / (tokens * width) * width + i % width;
    const bool won = winners[place] == i / width % tokens;
    store(input_gradient + i, won ? to_float(output_gradient[place]) : 0.0F);
  }
}

/// Calls body(T{}, Index{}) with the format of the images and the narrowest index type for both.
template <class Body>
void with_types(const Queue& queue, const Geometry& g, Body body) {
  with_type(queue.number,
            [&](auto zero) { with_index(std::max(g.from.elements(), g.to.elements()), [&](auto index) { body(zero, index); }); });
}

}  // namespace

void max_pool(const Queue& queue, const void* input, const Image& from, void* output, const Image& to, const Windows& windows,
              std::int32_t* winners) {
  const Geometry g = geometry(from, to, windows);
  with_types(queue, g, [&](auto zero, auto index) {
    using T = decltype(zero);
    launch(queue.stream, max_pool_kernel<T, decltype(index)>, blocks_for(to.elements()), block_threads, static_cast<const T*>(input),
           static_cast<T*>(output), g, winners);
  });
}

void max_pool_backward(const Queue& queue, const void* output_gradient, const Image& to, void* input_gradient, const Image& from,
                       const Windows& windows, const std::int32_t* winners) {
  const Geometry g = geometry(from, to, windows);
  with_types(queue, g, [&](auto zero, auto index) {
    using T = decltype(zero);
    launch(queue.stream, max_pool_backward_kernel<T, decltype(index)>, blocks_for(from.elements()), block_threads,
           static_cast<const T*>(output_gradient), static_cast<T*>(input_gradient), g, winners);
  });
}

void average_pool(const Queue& queue, const void* input, const Image& from, void* output, const Image& to, const Windows& windows) {
  const Geometry g = geometry(from, to, windows);
  with_types(queue, g, [&](auto zero, auto index) {
    using T = decltype(zero);
    launch(queue.stream, average_pool_kernel<T, decltype(index)>, blocks_for(to.elements()), block_threads, static_cast<const T*>(input),
           static_cast<T*>(output), g);
  });
}

void average_pool_backward(const Queue& queue, const void* output_gradient, const Image& to, void* input_gradient, const Image& from,
                           const Windows& windows) {
  const Geometry g = geometry(from, to, windows);
  with_types(queue, g, [&](auto zero, auto index) {
    using T = decltype(zero);
    launch(queue.stream, average_pool_backward_kernel<T, decltype(index)>, blocks_for(from.elements()), block_threads,
           static_cast<const T*>(output_gradient), static_cast<T*>(input_gradient), g);
  });
}

void max_over_time(const Queue& queue, const void* input, void* output, std::int64_t samples, std::int64_t tokens, std::int64_t width,
                   std::int32_t* winners) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    launch(queue.stream, max_over_time_kernel<T>, blocks_for(samples * width), block_threads, static_cast<const T*>(input),
           static_cast<T*>(output), samples, tokens, width, winners);
  });
}

void max_over_time_backward(const Queue& queue, const void* output_gradient, void* input_gradient, std::int64_t samples,
                            std::int64_t tokens, std::int64_t width, const std::int32_t* winners) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    launch(queue.stream, max_over_time_backward_kernel<T>, blocks_for(samples * tokens * width), block_threads,
           static_cast<const T*>(output_gradient), static_cast<T*>(input_gradient), samples, tokens, width, winners);
  });
}

}  // namespace syncopate::capture
