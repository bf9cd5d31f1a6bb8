// Ops that tell tokens where they stand.
#include "capture/cuda/makers.hpp"

namespace syncopate::capture {

namespace {

/// Adds a trained vector to each token. The gradient of the input is the output's, in the same memory.
class Positional : public CudaOp {
 public:
  explicit Positional(const CudaLayer& layer) : CudaOp(layer) { add_parameter(); }
  void forward() override {
    add_positions(queue(), layer_.inputs[0], parameters_[0].value.data(), layer_.output, layer_.batch(), parameters_[0].count());
  }
  void backward() override {
    sum_samples(queue(), layer_.output_gradient, parameters_[0].gradient.data(), layer_.batch(), parameters_[0].count());
  }
};

/// Rotates pairs of a head's numbers, one from each half, by the token's place.
class Rotary : public CudaOp {
 public:
  explicit Rotary(const CudaLayer& layer) : CudaOp(layer) {
    const auto [place, is_new] = layer.tools.rotations->try_emplace({heads_.tokens, heads_.pairs});
    rotations_ = &place->second;
    if (!is_new) return;
    const std::vector<Rotation> table = rotations(heads_.tokens, heads_.pairs);
    place->second = layer.tools.allocate(static_cast<std::int64_t>(table.size() * sizeof(Rotation)));
    copy_to_device(place->second.data(), table.data(), place->second.bytes(), layer.tools.stream);
  }

  void forward() override { rotate(queue(), layer_.inputs[0], heads_, rotations_->as<Rotation>(), false, layer_.output); }
  void backward() override {
    if (layer_.input_gradients[0] != nullptr)
      rotate(queue(), layer_.output_gradient, heads_, rotations_->as<Rotation>(), true, layer_.input_gradients[0]);
  }

 private:
  Heads heads_ = {layer_.batch(), layer_.layer.output[0], layer_.attributes().heads,
                  layer_.layer.output[1] / layer_.attributes().heads / 2};
  const DeviceMemory* rotations_ = nullptr;
};

}  // namespace

std::unique_ptr<CudaOp> make_cuda_positional(const CudaLayer& layer) { return std::make_unique<Positional>(layer); }
std::unique_ptr<CudaOp> make_cuda_rotary(const CudaLayer& layer) { return std::make_unique<Rotary>(layer); }

}  // namespace syncopate::capture
