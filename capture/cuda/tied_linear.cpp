#include "capture/cuda/makers.hpp"
#include "capture/cuda/products.hpp"

namespace syncopate::capture {

namespace {

/// Multiplies every token with an embedding's transposed table, which stays the embedding's parameter.
class TiedLinear : public CudaOp {
 public:
  using CudaOp::CudaOp;

  void forward() override {
    multiply(layer_.tools, {rows_, entries_, width_}, {layer_.inputs[0], width_}, {layer_.table->value.data(), width_, true},
             layer_.output);
  }

  void backward() override {
    if (layer_.input_gradients[0] != nullptr) {
      multiply(layer_.tools, {rows_, width_, entries_}, {layer_.output_gradient, entries_}, {layer_.table->value.data(), width_},
               layer_.input_gradients[0]);
    }
    multiply(layer_.tools, {entries_, width_, rows_}, {layer_.output_gradient, entries_, true}, {layer_.inputs[0], width_},
             layer_.table->gradient.data(), layer_.adds_to_gradient());
  }

  std::vector<std::string> kernels() const override {
    const std::string name(product_name(layer_.tools));
    return {name, layer_.input_gradients[0] == nullptr ? "" : name, name};
  }

 private:
  std::int64_t width_ = layer_.shapes[0].back();
  std::int64_t entries_ = layer_.layer.output.back();
  std::int64_t rows_ = layer_.output_elements() / entries_;
};

}  // namespace

std::unique_ptr<CudaOp> make_cuda_tied_linear(const CudaLayer& layer) { return std::make_unique<TiedLinear>(layer); }

}  // namespace syncopate::capture
