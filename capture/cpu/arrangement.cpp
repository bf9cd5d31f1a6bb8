// Ops that only move or add numbers.
#include <algorithm>

#include "capture/cpu/makers.hpp"

namespace syncopate::capture {

namespace {

using dnnl::memory;

/// Backward does nothing: the gradients of all inputs are the output's gradient, in the same memory.
class Add : public CpuOp {
 public:
  explicit Add(const CpuLayer& layer) : CpuOp(layer) {
    const std::vector<memory::desc> descs(layer.inputs.size(), flat_desc(layer.output_elements()));
    sum_ = dnnl::sum({descs.front(), std::vector<float>(descs.size(), 1.0F), descs, layer.engine});
    for (std::size_t i = 0; i < layer.inputs.size(); ++i)
      arguments_.emplace(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), view(descs[i], layer.inputs[i]));
    arguments_.emplace(DNNL_ARG_DST, view(descs.front(), layer.output));
  }
  void forward() override { run(sum_, arguments_); }
  void backward() override {}

 private:
  dnnl::sum sum_;
  Arguments arguments_;
};

/// Joins the last extent in memory: channels of images, width of tokens.
class Concat : public CpuOp {
 public:
  using CpuOp::CpuOp;

  void forward() override {
    for_each_part([](float* part, float* whole, std::int64_t count) { std::copy_n(part, count, whole); }, layer_.inputs, layer_.output);
  }
  void backward() override {
    for_each_part([](float* part, float* whole, std::int64_t count) { std::copy_n(whole, count, part); }, layer_.input_gradients,
                  layer_.output_gradient);
  }

 private:
  template <class Move>
  void for_each_part(Move move, const std::vector<float*>& parts, float* whole) const {
    const std::int64_t width = CpuLayer::width(layer_.layer.output);
    for (std::size_t slot = 0; slot < parts.size(); ++slot) {
      const std::int64_t part_width = CpuLayer::width(layer_.shapes[slot]);
      if (parts[slot] != nullptr) {
        for (std::int64_t row = 0; row < layer_.rows(); ++row) move(parts[slot] + row * part_width, whole + row * width, part_width);
      }
      whole += part_width;
    }
  }
};

/// From NHWC to the order of the fully connected layer's weights. A view where both orders are equal.
class Flatten : public CpuOp {
 public:
  explicit Flatten(const CpuLayer& layer) : CpuOp(layer) {
    if (layer.inputs[0] == layer.output) return;
    const memory::desc image = image_desc(layer.batch, layer.shapes[0]);
    const memory::desc plain(image.dims(), memory::data_type::f32, memory::format_tag::nchw);
    forward_ = copy(view(image, layer.inputs[0]), view(plain, layer.output));
    if (layer.input_gradients[0] != nullptr) backward_ = copy(view(plain, layer.output_gradient), view(image, layer.input_gradients[0]));
  }
  void forward() override { run(forward_); }
  void backward() override { run(backward_); }

 private:
  Step forward_;
  Step backward_;
};

/// Pixels of NHWC are tokens already: the output is a view of the input.
class ToTokens : public CpuOp {
 public:
  using CpuOp::CpuOp;
  void forward() override {}
  void backward() override {}
};

class FirstToken : public CpuOp {
 public:
  using CpuOp::CpuOp;
  void forward() override {
    for (std::int64_t sample = 0; sample < layer_.batch; ++sample)
      std::copy_n(layer_.inputs[0] + sample * stride_, width_, layer_.output + sample * width_);
  }
  void backward() override {
    if (layer_.input_gradients[0] == nullptr) return;
    std::fill_n(layer_.input_gradients[0], layer_.batch * stride_, 0.0F);
    for (std::int64_t sample = 0; sample < layer_.batch; ++sample)
      std::copy_n(layer_.output_gradient + sample * width_, width_, layer_.input_gradients[0] + sample * stride_);
  }

 private:
  std::int64_t width_ = layer_.layer.output.back();
  std::int64_t stride_ = elements(layer_.shapes[0]);
};

/// ResNet's option A: every stride-th pixel. Missing channels are zeros, half of them before the input's channels.
class PadShortcut : public CpuOp {
 public:
  using CpuOp::CpuOp;

  void forward() override {
    std::fill_n(layer_.output, layer_.output_elements(), 0.0F);
    for_each_pixel([this](std::int64_t from, std::int64_t to) { std::copy_n(layer_.inputs[0] + from, channels_, layer_.output + to); });
  }
  void backward() override {
    float* gradient = layer_.input_gradients[0];
    if (gradient == nullptr) return;
    std::fill_n(gradient, layer_.input_elements(0), 0.0F);
    for_each_pixel([&](std::int64_t from, std::int64_t to) { std::copy_n(layer_.output_gradient + to, channels_, gradient + from); });
  }

 private:
  template <class Move>
  void for_each_pixel(Move move) const {
    const Shape& input = layer_.shapes[0];
    const Shape& output = layer_.layer.output;
    const auto& stride = layer_.attributes().stride;
    for (std::int64_t sample = 0; sample < layer_.batch; ++sample) {
      for (std::int64_t y = 0; y < output[1]; ++y) {
        for (std::int64_t x = 0; x < output[2]; ++x) {
          move(((sample * input[1] + y * stride[0]) * input[2] + x * stride[1]) * input[0],
               ((sample * output[1] + y) * output[2] + x) * output[0] + (output[0] - input[0]) / 2);
        }
      }
    }
  }

  std::int64_t channels_ = layer_.shapes[0][0];
};

/// Every pixel `scale` times in both directions.
class Upsample : public CpuOp {
 public:
  using CpuOp::CpuOp;

  void forward() override {
    for_each_copy([this](std::int64_t from, std::int64_t to) { std::copy_n(layer_.inputs[0] + from, channels_, layer_.output + to); });
  }
  void backward() override {
    float* gradient = layer_.input_gradients[0];
    if (gradient == nullptr) return;
    std::fill_n(gradient, layer_.input_elements(0), 0.0F);
    for_each_copy([&](std::int64_t from, std::int64_t to) {
      std::transform(gradient + from, gradient + from + channels_, layer_.output_gradient + to, gradient + from, std::plus<>());
    });
  }

 private:
  /// Calls move(place of an input's pixel, place of a copy).
  template <class Move>
  void for_each_copy(Move move) const {
    const Shape& output = layer_.layer.output;
    const std::int64_t width = layer_.shapes[0][2];
    const std::int64_t scale = output[2] / width;
    for (std::int64_t row = 0; row < layer_.batch * output[1]; ++row) {  // heights of samples are multiples of the scale
      for (std::int64_t x = 0; x < output[2]; ++x) move((row / scale * width + x / scale) * channels_, (row * output[2] + x) * channels_);
    }
  }

  std::int64_t channels_ = layer_.shapes[0][0];
};

}  // namespace

std::unique_ptr<CpuOp> make_add(const CpuLayer& layer) { return std::make_unique<Add>(layer); }
std::unique_ptr<CpuOp> make_concat(const CpuLayer& layer) { return std::make_unique<Concat>(layer); }
std::unique_ptr<CpuOp> make_flatten(const CpuLayer& layer) { return std::make_unique<Flatten>(layer); }
std::unique_ptr<CpuOp> make_first_token(const CpuLayer& layer) { return std::make_unique<FirstToken>(layer); }
std::unique_ptr<CpuOp> make_pad_shortcut(const CpuLayer& layer) { return std::make_unique<PadShortcut>(layer); }
std::unique_ptr<CpuOp> make_to_tokens(const CpuLayer& layer) { return std::make_unique<ToTokens>(layer); }
std::unique_ptr<CpuOp> make_upsample(const CpuLayer& layer) { return std::make_unique<Upsample>(layer); }

}  // namespace syncopate::capture
