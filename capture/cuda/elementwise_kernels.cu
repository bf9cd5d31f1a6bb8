#include "capture/cuda/pack.cuh"
#include "capture/dropout.hpp"

namespace syncopate::capture {

namespace {

__device__ float logistic(float x) { return 1.0F / (1.0F + expf(-x)); }

struct Relu {
  __device__ static float value(float x) { return x > 0.0F ? x : 0.0F; }
  __device__ static float slope(float x) { return x > 0.0F ? 1.0F : 0.0F; }
};
struct Tanh {
  __device__ static float value(float x) { return tanhf(x); }
  __device__ static float slope(float x) { return 1.0F - tanhf(x) * tanhf(x); }
};
struct Gelu {
  __device__ static float below(float x) { return 0.5F * (1.0F + erff(x * 0.70710678F)); }
  __device__ static float value(float x) { return x * below(x); }
  __device__ static float slope(float x) { return below(x) + x * 0.39894228F * expf(-0.5F * x * x); }
};
struct Silu {
  __device__ static float value(float x) { return x * logistic(x); }
  __device__ static float slope(float x) { return logistic(x) * (1.0F + x * (1.0F - logistic(x))); }
};
struct Sigmoid {
  __device__ static float value(float x) { return logistic(x); }
  __device__ static float slope(float x) { return logistic(x) * (1.0F - logistic(x)); }
};

template <class Body>
void with_activation(Activation activation, Body body) {
  switch (activation) {
    case Activation::relu: return body(Relu{});
    case Activation::tanh: return body(Tanh{});
    case Activation::gelu: return body(Gelu{});
    case Activation::silu: return body(Silu{});
    case Activation::sigmoid: return body(Sigmoid{});
  }
}

template <class T, class Function>
__global__ void activate_kernel(const T* input, T* output, std::int64_t count) {
  for (std::int64_t first = pack_elements * thread_index(); first < count; first += pack_elements * thread_count()) {
    Values<> values = load_pack(input, first, count);
#pragma unroll
    for (int i = 0; i < pack_elements; ++i) values.at[i] = Function::value(values.at[i]);
    store_pack(output, first, count, values);
  }
}

template <class T, class Function>
__global__ void activate_backward_kernel(const T* input, const T* output_gradient, T* input_gradient, std::int64_t count) {
  for (std::int64_t first = pack_elements * thread_index(); first < count; first += pack_elements * thread_count()) {
    const Values<> inputs = load_pack(input, first, count);
    Values<> gradients = load_pack(output_gradient, first, count);
#pragma unroll
    for (int i = 0; i < pack_elements; ++i) gradients.at[i] *= Function::slope(inputs.at[i]);
    store_pack(input_gradient, first, count, gradients);
  }
}

template <class T>
__global__ void drop_kernel(const T* from, T* to, std::int64_t count, std::uint32_t iteration, std::uint32_t layer) {
  for (std::int64_t first = pack_elements * thread_index(); first < count; first += pack_elements * thread_count()) {
    const auto words = dropout_words(iteration, layer, static_cast<std::uint64_t>(first / pack_elements));
    Values<> values = load_pack(from, first, count);
#pragma unroll
    for (int i = 0; i < pack_elements; ++i) values.at[i] = words[i] < dropout_kept ? dropout_scale * values.at[i] : 0.0F;
    store_pack(to, first, count, values);
  }
}

struct Terms {
  static constexpr int most = 8;
  const void* at[most];
  int count;
};

template <class T>
__global__ void sum_kernel(Terms terms, T* result, std::int64_t count) {
  for (std::int64_t first = pack_elements * thread_index(); first < count; first += pack_elements * thread_count()) {
    Values<> sums = load_pack(static_cast<const T*>(terms.at[0]), first, count);
#pragma unroll
    for (int term = 1; term < Terms::most; ++term) {
      if (term >= terms.count) break;
      const Values<> values = load_pack(static_cast<const T*>(terms.at[term]), first, count);
#pragma unroll
      for (int i = 0; i < pack_elements; ++i) sums.at[i] += values.at[i];
    }
    store_pack(result, first, count, sums);
  }
}

template <class T, class Index>
__global__ void add_bias_kernel(const T* bias, T* numbers, Index count, Index channels, Index inner) {
  for (Index i = thread_index<Index>(); i < count; i += thread_count<Index>())
    store(numbers + i, to_float(numbers[i]) + to_float(bias[i / inner % channels]));
}

template <class From, class To>
__global__ void convert_kernel(const From* from, To* to, std::int64_t count) {
  for (std::int64_t first = pack_elements * thread_index(); first < count; first += pack_elements * thread_count())
    store_pack(to, first, count, load_pack(from, first, count));
}

}  // namespace

void activate(const Queue& queue, Activation activation, const void* input, void* output, std::int64_t count) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    with_activation(activation, [&](auto function) {
      launch(queue.stream, activate_kernel<T, decltype(function)>, blocks_for(packs(count)), block_threads, static_cast<const T*>(input),
             static_cast<T*>(output), count);
    });
  });
}

void activate_backward(const Queue& queue, Activation activation, const void* input, const void* output_gradient, void* input_gradient,
                       std::int64_t count) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    with_activation(activation, [&](auto function) {
      launch(queue.stream, activate_backward_kernel<T, decltype(function)>, blocks_for(packs(count)), block_threads,
             static_cast<const T*>(input), static_cast<const T*>(output_gradient), static_cast<T*>(input_gradient), count);
    });
  });
}

void drop(const Queue& queue, const void* from, void* to, std::int64_t count, std::uint32_t iteration, std::uint32_t layer) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    launch(queue.stream, drop_kernel<T>, blocks_for(packs(count)), block_threads, static_cast<const T*>(from), static_cast<T*>(to), count,
           iteration, layer);
  });
}

void sum(const Queue& queue, std::span<const void* const> terms, void* result, std::int64_t count) {
  Terms now = {};
  for (std::size_t next = 0; next < terms.size();) {
    while (next < terms.size() && now.count < Terms::most) now.at[now.count++] = terms[next++];
    with_type(queue.number, [&](auto zero) {
      using T = decltype(zero);
      launch(queue.stream, sum_kernel<T>, blocks_for(packs(count)), block_threads, now, static_cast<T*>(result), count);
    });
    now = {{result}, 1};  // later terms are added to it
  }
}

void add_bias(const Queue& queue, const void* bias, void* numbers, std::int64_t outer, std::int64_t channels, std::int64_t inner) {
  const std::int64_t count = outer * channels * inner;
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      launch(queue.stream, add_bias_kernel<T, Index>, blocks_for(count), block_threads, static_cast<const T*>(bias),
             static_cast<T*>(numbers), static_cast<Index>(count), static_cast<Index>(channels), static_cast<Index>(inner));
    });
  });
}

void convert(cudaStream_t stream, const void* from, Number from_number, void* to, Number to_number, std::int64_t count) {
  with_type(from_number, [&](auto from_zero) {
    using From = decltype(from_zero);
    with_type(to_number, [&](auto to_zero) {
      using To = decltype(to_zero);
      launch(stream, convert_kernel<From, To>, blocks_for(packs(count)), block_threads, static_cast<const From*>(from),
             static_cast<To*>(to), count);
    });
  });
}

}  // namespace syncopate::capture
