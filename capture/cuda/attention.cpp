#include <fmt/format.h>

#include <cmath>

#include "base/errors.hpp"
#include "capture/cuda/makers.hpp"
#include "capture/cuda/products.hpp"

namespace syncopate::capture {

namespace {

/// softmax(Q K^T / sqrt(d)) V for every head. A. Vaswani et al., "Attention is all you need", NIPS'17, Eq. 1.
class Attention : public CudaOp {
 public:
  explicit Attention(const CudaLayer& layer) : CudaOp(layer) {
    constexpr std::int64_t side = 8;
    if ((depth_ % side != 0 || tokens_ % side != 0) && layer.network.dtype != "fp32") {
      throw InputError(fmt::format(
          "{}: layer {}: cuBLAS's fast products need multiples of {} tokens and of {} numbers per head, got {} and {}; use --dtype fp32",
          layer.network.model.file, layer.layer.name, side, side, tokens_, depth_));
    }
    const std::int64_t scores = layer.bytes(matrices_ * tokens_ * tokens_);
    weights_ = layer.tools.allocate(scores);
    query_ = point_to_heads(layer.inputs[0]);
    key_ = point_to_heads(layer.inputs[1]);
    value_ = point_to_heads(layer.inputs[2]);
    output_ = point_to_heads(layer.output);
    weight_ = point_to_scores(weights_);
    if (layer.output_gradient == nullptr) return;
    weights_gradient_ = layer.tools.allocate(scores);
    weight_gradient_ = point_to_scores(weights_gradient_);
    output_gradient_ = point_to_heads(layer.output_gradient);
    query_gradient_ = point_to_heads(layer.input_gradients[0]);
    key_gradient_ = point_to_heads(layer.input_gradients[1]);
    value_gradient_ = point_to_heads(layer.input_gradients[2]);
  }

  void forward() override {
    multiply_all(layer_.tools, {tokens_, tokens_, depth_}, scale_, heads(query_), heads(key_, true), squares(weight_), matrices_);
    softmax(queue(), weights_.data(), matrices_ * tokens_, tokens_);
    multiply_all(layer_.tools, {tokens_, depth_, tokens_}, 1.0F, scores(weight_), heads(value_), results(output_), matrices_);
  }

  void backward() override {
    const ProductExtents back = {tokens_, depth_, tokens_};
    if (layer_.input_gradients[2] != nullptr)
      multiply_all(layer_.tools, back, 1.0F, scores(weight_, true), heads(output_gradient_), results(value_gradient_), matrices_);
    if (layer_.input_gradients[0] == nullptr && layer_.input_gradients[1] == nullptr) return;
    multiply_all(layer_.tools, {tokens_, tokens_, depth_}, 1.0F, heads(output_gradient_), heads(value_, true), squares(weight_gradient_),
                 matrices_);
    softmax_backward(queue(), weights_.data(), weights_gradient_.data(), matrices_ * tokens_, tokens_);
    if (layer_.input_gradients[0] != nullptr)
      multiply_all(layer_.tools, back, scale_, scores(weight_gradient_), heads(key_), results(query_gradient_), matrices_);
    if (layer_.input_gradients[1] != nullptr)
      multiply_all(layer_.tools, back, scale_, scores(weight_gradient_, true), heads(query_), results(key_gradient_), matrices_);
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

  /// A token holds the numbers of head 0, then those of head 1, and so on.
  DeviceMemory point_to_heads(void* tokens) const {
    if (tokens == nullptr) return {};
    std::vector<void*> matrices;
    for (std::int64_t i = 0; i < matrices_; ++i) {
      const std::int64_t place = i / heads_ * tokens_ * width_ + i % heads_ * depth_;
      matrices.push_back(static_cast<std::byte*>(tokens) + layer_.bytes(place));
    }
    return point_to(matrices);
  }

  DeviceMemory point_to_scores(const DeviceMemory& scores) const {
    std::vector<void*> matrices;
    for (std::int64_t i = 0; i < matrices_; ++i) matrices.push_back(scores.at(layer_.bytes(i * tokens_ * tokens_)));
    return point_to(matrices);
  }

  Factors heads(const DeviceMemory& pointers, bool transposed = false) const { return {pointers.as<const void*>(), width_, transposed}; }
  Factors scores(const DeviceMemory& pointers, bool transposed = false) const { return {pointers.as<const void*>(), tokens_, transposed}; }
  Products results(const DeviceMemory& pointers) const { return {pointers.as<void*>(), width_}; }
  Products squares(const DeviceMemory& pointers) const { return {pointers.as<void*>(), tokens_}; }

  std::int64_t heads_ = layer_.attributes().heads;
  std::int64_t tokens_ = layer_.shapes[0][0];
  std::int64_t width_ = layer_.shapes[0][1];
  std::int64_t depth_ = width_ / heads_;
  std::int64_t matrices_ = layer_.batch() * heads_;
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
