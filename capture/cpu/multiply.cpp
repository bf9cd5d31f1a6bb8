#include <algorithm>

#include "capture/cpu/makers.hpp"

namespace syncopate::capture {

namespace {

/// The product of all inputs, of which some may have a factor per channel instead of an image.
class Multiply : public CpuOp {
 public:
  explicit Multiply(const CpuLayer& layer) : CpuOp(layer) {
    for (const bool per_channel : {false, true}) {
      for (std::size_t slot = 0; slot < layer.inputs.size(); ++slot) {
        if (is_per_channel(slot) == per_channel) slots_.push_back(slot);
      }
    }
    const auto sums = [this](std::size_t slot) { return is_per_channel(slot) && layer_.input_gradients[slot] != nullptr; };
    if (std::any_of(slots_.begin(), slots_.end(), sums)) products_.resize(static_cast<std::size_t>(layer.output_elements()));
  }

  void forward() override {
    const float* from = layer_.inputs[slots_.front()];
    for (auto slot = slots_.begin() + 1; slot != slots_.end(); ++slot) {
      multiply(from, *slot, layer_.output);
      from = layer_.output;
    }
  }

  void backward() override {
    for (const std::size_t slot : slots_) {
      float* gradient = layer_.input_gradients[slot];
      if (gradient == nullptr) continue;
      float* products = is_per_channel(slot) ? products_.data() : gradient;
      const float* from = layer_.output_gradient;
      for (const std::size_t other : slots_) {
        if (other == slot) continue;
        multiply(from, other, products);
        from = products;
      }
      if (is_per_channel(slot)) sum_pixels(products, gradient);
    }
  }

 private:
  bool is_per_channel(std::size_t slot) const { return layer_.shapes[slot] != layer_.layer.output; }

  /// to = from times the input; `from` may be `to`.
  void multiply(const float* from, std::size_t slot, float* to) const {
    const float* factor = layer_.inputs[slot];
    if (!is_per_channel(slot)) {
      std::transform(from, from + layer_.output_elements(), factor, to, std::multiplies<>());
      return;
    }
    for_each_pixel([=](std::int64_t pixel, std::int64_t channels, std::int64_t of_sample) {
      std::transform(from + pixel, from + pixel + channels, factor + of_sample, to + pixel, std::multiplies<>());
    });
  }

  void sum_pixels(const float* numbers, float* sums) const {
    std::fill_n(sums, layer_.batch * layer_.layer.output[0], 0.0F);
    for_each_pixel([=](std::int64_t pixel, std::int64_t channels, std::int64_t of_sample) {
      std::transform(numbers + pixel, numbers + pixel + channels, sums + of_sample, sums + of_sample, std::plus<>());
    });
  }

  /// Calls visit(place of the pixel's channels, how many, place of the sample's factors).
  template <class Visit>
  void for_each_pixel(Visit visit) const {
    const std::int64_t channels = layer_.layer.output[0];
    const std::int64_t pixels = layer_.rows() / layer_.batch;
    for (std::int64_t pixel = 0; pixel < layer_.rows(); ++pixel) visit(pixel * channels, channels, pixel / pixels * channels);
  }

  std::vector<std::size_t> slots_;  // those of the output's shape first
  std::vector<float> products_;
};

}  // namespace

std::unique_ptr<CpuOp> make_multiply(const CpuLayer& layer) { return std::make_unique<Multiply>(layer); }

}  // namespace syncopate::capture
