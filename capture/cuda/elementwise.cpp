#include "capture/cuda/makers.hpp"

namespace syncopate::capture {

namespace {

template <Activation function>
class Elementwise : public CudaOp {
 public:
  using CudaOp::CudaOp;
  void forward() override { activate(queue(), function, layer_.inputs[0], layer_.output, layer_.output_elements()); }
  void backward() override {
    if (layer_.input_gradients[0] == nullptr) return;
    activate_backward(queue(), function, layer_.inputs[0], layer_.output_gradient, layer_.input_gradients[0], layer_.output_elements());
  }
};

/// Zeros half of the elements at random and doubles the others. Backward draws the same numbers again.
class Dropout : public CudaOp {
 public:
  using CudaOp::CudaOp;
  void forward() override { move(layer_.inputs[0], layer_.output); }
  void backward() override {
    if (layer_.input_gradients[0] != nullptr) move(layer_.output_gradient, layer_.input_gradients[0]);
  }

 private:
  void move(const void* from, void* to) const {
    drop(queue(), from, to, layer_.output_elements(), layer_.iteration, static_cast<std::uint32_t>(layer_.index));
  }
};

}  // namespace

std::unique_ptr<CudaOp> make_cuda_relu(const CudaLayer& layer) { return std::make_unique<Elementwise<Activation::relu>>(layer); }
std::unique_ptr<CudaOp> make_cuda_tanh(const CudaLayer& layer) { return std::make_unique<Elementwise<Activation::tanh>>(layer); }
std::unique_ptr<CudaOp> make_cuda_gelu(const CudaLayer& layer) { return std::make_unique<Elementwise<Activation::gelu>>(layer); }
std::unique_ptr<CudaOp> make_cuda_silu(const CudaLayer& layer) { return std::make_unique<Elementwise<Activation::silu>>(layer); }
std::unique_ptr<CudaOp> make_cuda_sigmoid(const CudaLayer& layer) { return std::make_unique<Elementwise<Activation::sigmoid>>(layer); }
std::unique_ptr<CudaOp> make_cuda_dropout(const CudaLayer& layer) { return std::make_unique<Dropout>(layer); }

}  // namespace syncopate::capture
