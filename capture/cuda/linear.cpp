#include <optional>

#include "capture/cuda/makers.hpp"
#include "capture/cuda/products.hpp"
#include "capture/cuda/weighted.hpp"

namespace syncopate::capture {

namespace {

/// Multiplies every row (sample or token) with the transposed weights.
class Linear : public Weighted {
 public:
  explicit Linear(const CudaLayer& layer) : Weighted(layer) { add_weight_and_bias(false); }

  std::size_t prepare() override {
    if (!has_bias()) return 0;
    const BiasedProduct& product = biased_.emplace(layer_.tools, ProductExtents{rows_, to_, from_}, bias().value.data());
    return product.workspace();
  }

  void forward() override {
    if (is_fused()) return biased_->run(layer_.tools, layer_.inputs[0], weight().value.data(), layer_.output);
    multiply(layer_.tools, {rows_, to_, from_}, {layer_.inputs[0], from_}, {weight().value.data(), from_, true}, layer_.output);
    if (has_bias()) add_bias(queue(), bias().value.data(), layer_.output, rows_, to_, 1);
  }

  void backward() override {
    const Factor gradient = {layer_.output_gradient, to_};
    if (layer_.input_gradients[0] != nullptr)
      multiply(layer_.tools, {rows_, from_, to_}, gradient, {weight().value.data(), from_}, layer_.input_gradients[0]);
    multiply(layer_.tools, {to_, from_, rows_}, {layer_.output_gradient, to_, true}, {layer_.inputs[0], from_}, weight().gradient.data());
    if (has_bias()) sum_bias_gradient();
  }

  std::vector<std::string> kernels() const override {
    const std::string name(product_name(layer_.tools));
    return {is_fused() ? name + " with bias" : name, layer_.input_gradients[0] == nullptr ? "" : name, name};
  }

 private:
  bool is_fused() const { return biased_ && biased_->supported(); }

  std::optional<BiasedProduct> biased_;
  std::int64_t from_ = layer_.shapes[0].back();
  std::int64_t to_ = layer_.layer.output.back();
  std::int64_t rows_ = layer_.output_elements() / to_;
};

}  // namespace

std::unique_ptr<CudaOp> make_cuda_linear(const CudaLayer& layer) { return std::make_unique<Linear>(layer); }

}  // namespace syncopate::capture
