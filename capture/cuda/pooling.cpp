#include "capture/cuda/makers.hpp"

namespace syncopate::capture {

namespace {

Windows windows_of(const Attributes& a) {
  const auto pair = [](const std::array<std::int64_t, 2>& extents) { return Pair{to_int(extents[0]), to_int(extents[1])}; };
  return {pair(a.kernel), pair(a.stride), pair(a.pad)};
}

class Pooling : public CudaOp {
 public:
  Pooling(const CudaLayer& layer, const Windows& windows) : CudaOp(layer), windows_(windows) {}

 protected:
  Image input() const { return layer_.image(layer_.shapes[0]); }
  Image output() const { return layer_.image(layer_.layer.output); }

  Windows windows_;
};

class MaxPooling : public Pooling {
 public:
  explicit MaxPooling(const CudaLayer& layer) : Pooling(layer, windows_of(layer.attributes())) {}
  void forward() override { max_pool(queue(), layer_.inputs[0], input(), layer_.output, output(), windows_, winners_.as<std::int32_t>()); }
  void backward() override {
    if (layer_.input_gradients[0] == nullptr) return;
    max_pool_backward(queue(), layer_.output_gradient, output(), layer_.input_gradients[0], input(), windows_, winners_.as<std::int32_t>());
  }

 private:
  DeviceMemory winners_ = layer_.tools.allocate(layer_.output_elements() * static_cast<std::int64_t>(sizeof(std::int32_t)));
};

class AveragePooling : public Pooling {
 public:
  using Pooling::Pooling;
  void forward() override { average_pool(queue(), layer_.inputs[0], input(), layer_.output, output(), windows_); }
  void backward() override {
    if (layer_.input_gradients[0] == nullptr) return;
    average_pool_backward(queue(), layer_.output_gradient, output(), layer_.input_gradients[0], input(), windows_);
  }
};

/// Maximum of each feature over all tokens. The gradient goes to the token with the maximum.
class MaxOverTime : public CudaOp {
 public:
  using CudaOp::CudaOp;
  void forward() override {
    max_over_time(queue(), layer_.inputs[0], layer_.output, layer_.batch(), tokens_, width_, winners_.as<std::int32_t>());
  }
  void backward() override {
    if (layer_.input_gradients[0] == nullptr) return;
    max_over_time_backward(queue(), layer_.output_gradient, layer_.input_gradients[0], layer_.batch(), tokens_, width_,
                           winners_.as<std::int32_t>());
  }

 private:
  std::int64_t tokens_ = layer_.shapes[0][0];
  std::int64_t width_ = layer_.shapes[0][1];
  DeviceMemory winners_ = layer_.tools.allocate(layer_.output_elements() * static_cast<std::int64_t>(sizeof(std::int32_t)));
};

}  // namespace

std::unique_ptr<CudaOp> make_cuda_max_pooling(const CudaLayer& layer) { return std::make_unique<MaxPooling>(layer); }
std::unique_ptr<CudaOp> make_cuda_average_pooling(const CudaLayer& layer) {
  return std::make_unique<AveragePooling>(layer, windows_of(layer.attributes()));
}
std::unique_ptr<CudaOp> make_cuda_adaptive_pooling(const CudaLayer& layer) { return std::make_unique<AveragePooling>(layer, Windows{}); }
std::unique_ptr<CudaOp> make_cuda_max_over_time(const CudaLayer& layer) { return std::make_unique<MaxOverTime>(layer); }

}  // namespace syncopate::capture
