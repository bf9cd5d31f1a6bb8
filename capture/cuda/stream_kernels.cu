// Kernels that belong to no layer: delays and the optimizer's step.
#include "capture/cuda/launch.cuh"

namespace syncopate::capture {

namespace {

__device__ std::uint64_t nanoseconds_now() {
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void delay_kernel(std::uint64_t nanoseconds) {
  const std::uint64_t start = nanoseconds_now();
  while (nanoseconds_now() - start < nanoseconds) {
  }
}

/// The change of one value; also updates its optimizer state.
__device__ float move_of(const Descent& tensor, std::int64_t i, float gradient, const AdamStep& step) {
  if (tensor.second == nullptr) {
    tensor.first[i] = momentum * tensor.first[i] + gradient;
    return learning_rate * tensor.first[i];
  }
  const float first = adam_beta1 * tensor.first[i] + (1 - adam_beta1) * gradient;
  const float second = adam_beta2 * tensor.second[i] + (1 - adam_beta2) * gradient * gradient;
  tensor.first[i] = first;
  tensor.second[i] = second;
  return step.rate * first / (step.scale * sqrtf(second) + adam_epsilon);
}

template <class T>
__device__ void descend_one(const Descent& tensor, std::int64_t i, const AdamStep& step) {
  const float value = tensor.master[i] - move_of(tensor, i, to_float(static_cast<const T*>(tensor.gradient)[i]), step);
  tensor.master[i] = value;
  store(static_cast<T*>(tensor.value) + i, value);  // in fp32, `value` is the master copy itself
}

/// A block for each piece.
__global__ void descend_kernel(const Descent* tensors, const DescentPiece* pieces, AdamStep step) {
  const DescentPiece piece = pieces[blockIdx.x];
  const Descent tensor = tensors[piece.tensor];
  const std::int64_t end = piece.first + DescentPiece::elements < tensor.count ? piece.first + DescentPiece::elements : tensor.count;
  for (std::int64_t i = piece.first + threadIdx.x; i < end; i += blockDim.x) {
    switch (tensor.number) {
      case Number::fp32: descend_one<float>(tensor, i, step); break;
      case Number::fp16: descend_one<__half>(tensor, i, step); break;
      case Number::bf16: descend_one<__nv_bfloat16>(tensor, i, step); break;
    }
  }
}

}  // namespace

void delay(cudaStream_t stream, std::uint64_t nanoseconds) { launch(stream, delay_kernel, 1, 1, nanoseconds); }

void descend(cudaStream_t stream, const Descent* tensors, const DescentPiece* pieces, std::int64_t piece_count, const AdamStep& step) {
  if (piece_count == 0) return;
  launch(stream, descend_kernel, static_cast<unsigned int>(piece_count), block_threads, tensors, pieces, step);
}

}  // namespace syncopate::capture
