#include "capture/cuda/op.hpp"

namespace syncopate::capture {

cudnnDataType_t cudnn_type(Number number) {
  switch (number) {
    case Number::fp32: return CUDNN_DATA_FLOAT;
    case Number::fp16: return CUDNN_DATA_HALF;
    case Number::bf16: return CUDNN_DATA_BFLOAT16;
  }
  return CUDNN_DATA_FLOAT;
}

Image CudaLayer::image(const Shape& shape) const {
  return {batch(), to_int(shape[0]), to_int(shape[1]), to_int(shape[2]), channels_last()};
}

Planes CudaLayer::planes() const {
  const Shape& shape = layer.output;
  if (shape.size() != 3) return {batch(), elements(shape), 1, false};
  return {batch(), shape[0], shape[1] * shape[2], channels_last()};
}

CudaParameter& CudaOp::add_parameter(bool channels_last) {
  const Number number = layer_.network.parameter_bytes(layer_.layer) == number_bytes(Number::fp32) ? Number::fp32 : layer_.tools.number;
  const Shape& shape = layer_.layer.tensors[parameters_.size()].shape;
  const std::int64_t bytes = elements(shape) * number_bytes(number);
  parameters_.push_back({shape, channels_last, number, layer_.tools.allocate(bytes), layer_.tools.allocate(bytes)});
  return parameters_.back();
}

void CudaOp::zero(void* memory, std::int64_t bytes) const {
  check(cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes), queue().stream), "cudaMemsetAsync");
}

}  // namespace syncopate::capture
