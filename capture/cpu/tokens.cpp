// Ops that tell tokens where they stand.
#include <algorithm>

#include "capture/cpu/makers.hpp"
#include "capture/rotary.hpp"

namespace syncopate::capture {

namespace {

/// Adds a trained vector to each token. The gradient of the input is the output's, in the same memory.
class Positional : public CpuOp {
 public:
  explicit Positional(const CpuLayer& layer) : CpuOp(layer) {
    const Shape& shape = layer.layer.output;
    add_parameter(matrix_desc(shape[0], shape[1]), {shape[0], shape[1]});
  }

  void forward() override {
    const float* weight = data(parameters_[0].value);
    for (std::int64_t sample = 0; sample < layer_.batch; ++sample) {
      const float* from = layer_.inputs[0] + sample * numbers_;
      std::transform(from, from + numbers_, weight, layer_.output + sample * numbers_, std::plus<>());
    }
  }

  void backward() override {
    float* sums = data(parameters_[0].gradient);
    std::copy_n(layer_.output_gradient, numbers_, sums);
    for (std::int64_t sample = 1; sample < layer_.batch; ++sample)
      std::transform(sums, sums + numbers_, layer_.output_gradient + sample * numbers_, sums, std::plus<>());
  }

 private:
  std::int64_t numbers_ = elements(layer_.layer.output);  // of a sample
};

/// Rotates pairs of a head's numbers, one from each half, by the token's place.
class Rotary : public CpuOp {
 public:
  using CpuOp::CpuOp;
  void forward() override { rotate(layer_.inputs[0], layer_.output, 1.0F); }
  void backward() override {
    if (layer_.input_gradients[0] != nullptr) rotate(layer_.output_gradient, layer_.input_gradients[0], -1.0F);
  }

 private:
  void rotate(const float* from, float* to, float direction) const {
    for (std::int64_t token = 0; token < layer_.rows(); ++token) {
      const Rotation* row = rotations_.data() + token % tokens_ * pairs_;
      for (std::int64_t head = 0; head < layer_.attributes().heads; ++head, from += 2 * pairs_, to += 2 * pairs_) {
        for (std::int64_t i = 0; i < pairs_; ++i) {
          const float sine = direction * row[i].sine;
          const float first = from[i];
          const float second = from[pairs_ + i];
          to[i] = first * row[i].cosine - second * sine;
          to[pairs_ + i] = second * row[i].cosine + first * sine;
        }
      }
    }
  }

  std::int64_t tokens_ = layer_.layer.output[0];
  std::int64_t pairs_ = layer_.layer.output[1] / layer_.attributes().heads / 2;
  std::vector<Rotation> rotations_ = rotations(tokens_, pairs_);
};

}  // namespace

std::unique_ptr<CpuOp> make_positional(const CpuLayer& layer) { return std::make_unique<Positional>(layer); }
std::unique_ptr<CpuOp> make_rotary(const CpuLayer& layer) { return std::make_unique<Rotary>(layer); }

}  // namespace syncopate::capture
