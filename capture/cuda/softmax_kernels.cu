#include "capture/cuda/launch.cuh"

namespace syncopate::capture {

namespace {

/// A warp for each row.
template <class T>
__global__ void softmax_kernel(T* numbers, Scores scores) {
  const unsigned int lane = threadIdx.x % warp_threads;
  const std::int64_t rows = scores.matrices * scores.tokens;
  for (std::int64_t row = thread_index() / warp_threads; row < rows; row += thread_count() / warp_threads) {
    const std::int64_t width = scores.causal ? row % scores.tokens + 1 : scores.tokens;
    T* values = numbers + row * scores.stride;
    float largest = Maximum::none;
    for (std::int64_t i = lane; i < width; i += warp_threads) largest = fmaxf(largest, to_float(values[i]));
    largest = over_warp<Maximum>(largest);
    float sum = 0.0F;
    for (std::int64_t i = lane; i < width; i += warp_threads) sum += expf(to_float(values[i]) - largest);
    sum = over_warp<Sum>(sum);
    for (std::int64_t i = lane; i < width; i += warp_threads) store(values + i, expf(to_float(values[i]) - largest) / sum);
    for (std::int64_t i = width + lane; i < scores.tokens; i += warp_threads) store(values + i, 0.0F);
  }
}

template <class T>
__global__ void softmax_backward_kernel(const T* probabilities, T* gradient, Scores scores) {
  const unsigned int lane = threadIdx.x % warp_threads;
  const std::int64_t rows = scores.matrices * scores.tokens;
  for (std::int64_t row = thread_index() / warp_threads; row < rows; row += thread_count() / warp_threads) {
    const std::int64_t width = scores.causal ? row % scores.tokens + 1 : scores.tokens;
    const T* p = probabilities + row * scores.stride;
    T* g = gradient + row * scores.stride;
    float mean = 0.0F;
    for (std::int64_t i = lane; i < width; i += warp_threads) mean += to_float(p[i]) * to_float(g[i]);
    mean = over_warp<Sum>(mean);
    for (std::int64_t i = lane; i < width; i += warp_threads) store(g + i, to_float(p[i]) * (to_float(g[i]) - mean));
    for (std::int64_t i = width + lane; i < scores.tokens; i += warp_threads) store(g + i, 0.0F);
  }
}

/// A block for each row.
template <class T>
__global__ void cross_entropy_kernel(const T* logits, Logits shape, const std::int32_t* labels, float* log_sums, double* loss) {
  const std::int64_t rows = shape.outer * shape.inner;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* values = logits + row / shape.inner * shape.classes * shape.inner + row % shape.inner;
    float largest = Maximum::none;
    for (std::int64_t i = threadIdx.x; i < shape.classes; i += blockDim.x) largest = fmaxf(largest, to_float(values[i * shape.inner]));
    largest = over_block<Maximum>(largest);
    float sum = 0.0F;
    for (std::int64_t i = threadIdx.x; i < shape.classes; i += blockDim.x) sum += expf(to_float(values[i * shape.inner]) - largest);
    sum = over_block<Sum>(sum);
    if (threadIdx.x == 0) {
      const float log_sum = logf(sum) + largest;
      log_sums[row] = log_sum;
      atomicAdd(loss, (static_cast<double>(log_sum) - to_float(values[labels[row] * shape.inner])) / static_cast<double>(rows));
    }
  }
}

template <class T>
__global__ void cross_entropy_backward_kernel(const T* logits, Logits shape, const std::int32_t* labels, const float* log_sums,
                                              T* gradient) {
  const float share = 1.0F / static_cast<float>(shape.outer * shape.inner);
  for (std::int64_t i = thread_index(); i < shape.outer * shape.classes * shape.inner; i += thread_count()) {
    const std::int64_t row = i / (shape.classes * shape.inner) * shape.inner + i % shape.inner;
    const bool wanted = i / shape.inner % shape.classes == labels[row];
    store(gradient + i, share * (expf(to_float(logits[i]) - log_sums[row]) - (wanted ? 1.0F : 0.0F)));
  }
}

}  // namespace

void softmax(const Queue& queue, void* numbers, const Scores& scores) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    launch(queue.stream, softmax_kernel<T>, blocks_for(scores.matrices * scores.tokens * warp_threads), block_threads,
           static_cast<T*>(numbers), scores);
  });
}

void softmax_backward(const Queue& queue, const void* probabilities, void* gradient, const Scores& scores) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    launch(queue.stream, softmax_backward_kernel<T>, blocks_for(scores.matrices * scores.tokens * warp_threads), block_threads,
           static_cast<const T*>(probabilities), static_cast<T*>(gradient), scores);
  });
}

void cross_entropy(const Queue& queue, const void* logits, const Logits& shape, const std::int32_t* labels, float* log_sums, double* loss) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    launch(queue.stream, cross_entropy_kernel<T>, blocks_for(shape.outer * shape.inner * block_threads), block_threads,
           static_cast<const T*>(logits), shape, labels, log_sums, loss);
  });
}

void cross_entropy_backward(const Queue& queue, const void* logits, const Logits& shape, const std::int32_t* labels, const float* log_sums,
                            void* gradient) {
  with_type(queue.number, [&](auto zero) {
    using T = decltype(zero);
    launch(queue.stream, cross_entropy_backward_kernel<T>, blocks_for(shape.outer * shape.classes * shape.inner), block_threads,
           static_cast<const T*>(logits), shape, labels, log_sums, static_cast<T*>(gradient));
  });
}

}  // namespace syncopate::capture
