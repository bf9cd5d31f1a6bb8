#include "capture/cuda/makers.hpp"

namespace syncopate::capture {

namespace {

/// The product of all inputs, of which some may have a factor per channel instead of an image.
class Multiply : public CudaOp {
 public:
  explicit Multiply(const CudaLayer& layer) : CudaOp(layer) {
    for (std::size_t slot = 0; slot < layer.inputs.size(); ++slot) {
      if (layer.input_gradients[slot] == nullptr || !is_per_channel(slot)) continue;
      if (layer.tools.number != Number::fp32 && sums_.data() == nullptr)
        sums_ = layer.tools.allocate(layer.input_elements(slot) * number_bytes(Number::fp32));
      if (layer.inputs.size() > most_factors && products_.data() == nullptr)
        products_ = layer.tools.allocate(layer.bytes(layer.output_elements()));
    }
  }

  void forward() override {
    std::vector<ElementFactor> factors;
    for (std::size_t slot = 0; slot < layer_.inputs.size(); ++slot) factors.push_back(factor(slot));
    multiply_elements(queue(), factors, planes_, layer_.output);
  }

  void backward() override {
    for (std::size_t slot = 0; slot < layer_.inputs.size(); ++slot) {
      void* gradient = layer_.input_gradients[slot];
      if (gradient == nullptr) continue;
      std::vector<ElementFactor> factors = {{layer_.output_gradient, false}};
      for (std::size_t other = 0; other < layer_.inputs.size(); ++other) {
        if (other != slot) factors.push_back(factor(other));
      }
      if (is_per_channel(slot)) {
        sum_over_pixels(factors, gradient, layer_.input_elements(slot));
      } else {
        multiply_elements(queue(), factors, planes_, gradient);
      }
    }
  }

 private:
  bool is_per_channel(std::size_t slot) const { return layer_.shapes[slot] != layer_.layer.output; }
  ElementFactor factor(std::size_t slot) const { return {layer_.inputs[slot], is_per_channel(slot)}; }

  void sum_over_pixels(std::vector<ElementFactor> factors, void* gradient, std::int64_t count) const {
    if (factors.size() > most_factors) {
      multiply_elements(queue(), factors, planes_, products_.data());
      factors = {{products_.data(), false}};
    }
    if (sums_.data() == nullptr) return sum_products(queue(), factors, planes_, static_cast<float*>(gradient));
    sum_products(queue(), factors, planes_, sums_.as<float>());
    convert(queue().stream, sums_.data(), Number::fp32, gradient, layer_.tools.number, count);
  }

  Planes planes_ = layer_.planes();
  DeviceMemory sums_;      // in fp32, where gradients are not
  DeviceMemory products_;  // of more factors than can be summed at once
};

}  // namespace

std::unique_ptr<CudaOp> make_cuda_multiply(const CudaLayer& layer) { return std::make_unique<Multiply>(layer); }

}  // namespace syncopate::capture
