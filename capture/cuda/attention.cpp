#include <fmt/format.h>

#include <cmath>

#include "base/errors.hpp"
#include "capture/cuda/makers.hpp"
#include "capture/cuda/products.hpp"

namespace syncopate::capture {

namespace {

constexpr std::int64_t side = 8;  // cuBLAS's fast products want rows of so many numbers, or a multiple

/// softmax(Q K^T / sqrt(d)) V for every head; if causal, of each token with itself and earlier ones. Reads query, key and value, or one
/// input that has them side by side. A. Vaswani et al., "Attention is all you need", NIPS'17, Eq. 1.
class Attention : public CudaOp {
 public:
  explicit Attention(const CudaLayer& layer) : CudaOp(layer) {
    if (depth_ % side != 0 && layer.network.dtype != "fp32") {
      throw InputError(fmt::format("{}: layer {}: cuBLAS's fast products need multiples of {} numbers per head, got {}; use --dtype fp32",
                                   layer.network.model.file, layer.layer.name, side, depth_));
    }
    const std::int64_t scores = layer.bytes(matrices_ * tokens_ * stride_);
    weights_ = layer.tools.allocate(scores);
    query_ = point_to_part(0, layer.inputs);
    key_ = point_to_part(1, layer.inputs);
    value_ = point_to_part(2, layer.inputs);
    output_ = point_to_heads(layer.output, 0, width_);
    weight_ = point_to_scores(weights_);
    if (layer.output_gradient == nullptr) return;
    weights_gradient_ = layer.tools.allocate(scores);
    weight_gradient_ = point_to_scores(weights_gradient_);
    output_gradient_ = point_to_heads(layer.output_gradient, 0, width_);
    query_gradient_ = point_to_part(0, layer.input_gradients);
    key_gradient_ = point_to_part(1, layer.input_gradients);
    value_gradient_ = point_to_part(2, layer.input_gradients);
  }

  void forward() override {
    multiply_all(layer_.tools, {tokens_, tokens_, depth_}, scale_, input_heads(query_), input_heads(key_, true), squares(weight_),
                 matrices_);
    softmax(queue(), weights_.data(), square_);
    multiply_all(layer_.tools, {tokens_, depth_, tokens_}, 1.0F, scores(weight_), input_heads(value_), results(output_), matrices_);
  }

  void backward() override {
    const ProductExtents back = {tokens_, depth_, tokens_};
    if (value_gradient_.data() != nullptr)
      multiply_all(layer_.tools, back, 1.0F, scores(weight_, true), heads(output_gradient_), input_results(value_gradient_), matrices_);
    if (query_gradient_.data() == nullptr && key_gradient_.data() == nullptr) return;
    multiply_all(layer_.tools, {tokens_, tokens_, depth_}, 1.0F, heads(output_gradient_), input_heads(value_, true),
                 squares(weight_gradient_), matrices_);
    softmax_backward(queue(), weights_.data(), weights_gradient_.data(), square_);
    if (query_gradient_.data() != nullptr)
      multiply_all(layer_.tools, back, scale_, scores(weight_gradient_), input_heads(key_), input_results(query_gradient_), matrices_);
    if (key_gradient_.data() != nullptr)
      multiply_all(layer_.tools, back, scale_, scores(weight_gradient_, true), input_heads(query_), input_results(key_gradient_),
                   matrices_);
  }

  std::vector<std::string> kernels() const override {
    const std::string name(product_name(layer_.tools));
    return {name, name, ""};
  }

 private:
  /// Pointers, on the device, to a matrix for every sample and head.
  DeviceMemory point_to(const std::vector<void*>& matrices) const {
    const std::size_t bytes = matrices.size() * sizeof(void*);
    DeviceMemory pointers = layer_.tools.allocate(static_cast<std::int64_t>(bytes));
    copy_to_device(pointers.data(), matrices.data(), bytes, queue().stream);
    return pointers;
  }

  /// A token holds the numbers of head 0, then those of head 1, and so on, from its number `first` on; tokens are `step` numbers apart.
  DeviceMemory point_to_heads(void* tokens, std::int64_t first, std::int64_t step) const {
    if (tokens == nullptr) return {};
    std::vector<void*> matrices;
    for (std::int64_t i = 0; i < matrices_; ++i) {
      const std::int64_t place = i / heads_ * tokens_ * step + first + i % heads_ * depth_;
      matrices.push_back(static_cast<std::byte*>(tokens) + layer_.bytes(place));
    }
    return point_to(matrices);
  }

  /// Query, key or value (0 to 2), which are inputs of their own or side by side in one, or its gradient.
  DeviceMemory point_to_part(std::size_t part, const std::vector<void*>& inputs) const {
    if (inputs.size() > 1) return point_to_heads(inputs[part], 0, input_step_);
    return point_to_heads(inputs[0], static_cast<std::int64_t>(part) * width_, input_step_);
  }

  DeviceMemory point_to_scores(const DeviceMemory& scores) const {
    std::vector<void*> matrices;
    for (std::int64_t i = 0; i < matrices_; ++i) matrices.push_back(scores.at(layer_.bytes(i * tokens_ * stride_)));
    return point_to(matrices);
  }

  Factors heads(const DeviceMemory& pointers, bool transposed = false) const { return {pointers.as<const void*>(), width_, transposed}; }
  Factors input_heads(const DeviceMemory& pointers, bool transposed = false) const {
    return {pointers.as<const void*>(), input_step_, transposed};
  }
  Products input_results(const DeviceMemory& pointers) const { return {pointers.as<void*>(), input_step_}; }
  Factors scores(const DeviceMemory& pointers, bool transposed = false) const { return {pointers.as<const void*>(), stride_, transposed}; }
  Products results(const DeviceMemory& pointers) const { return {pointers.as<void*>(), width_}; }
  Products squares(const DeviceMemory& pointers) const { return {pointers.as<void*>(), stride_}; }

  std::int64_t heads_ = layer_.attributes().heads;
  std::int64_t tokens_ = layer_.shapes[0][0];
  std::int64_t width_ = layer_.layer.output[1];
  std::int64_t input_step_ = layer_.shapes[0][1];  // from a token of an input to the next one
  std::int64_t depth_ = width_ / heads_;
  std::int64_t matrices_ = layer_.batch() * heads_;
  std::int64_t stride_ = (tokens_ + side - 1) / side * side;  // of scores: rows begin where 16 bytes do
  Scores square_{matrices_, tokens_, stride_, layer_.attributes().causal};
  float scale_ = 1.0F / std::sqrt(static_cast<float>(depth_));
  DeviceMemory weights_;
  DeviceMemory weights_gradient_;
  // Pointers to matrices:
  DeviceMemory query_;
  DeviceMemory key_;
  DeviceMemory value_;
  DeviceMemory output_;
  DeviceMemory weight_;
  DeviceMemory weight_gradient_;
  DeviceMemory output_gradient_;
  DeviceMemory query_gradient_;
  DeviceMemory key_gradient_;
  DeviceMemory value_gradient_;
};

}  // namespace

std::unique_ptr<CudaOp> make_cuda_attention(const CudaLayer& layer) { return std::make_unique<Attention>(layer); }

}  // namespace syncopate::capture
