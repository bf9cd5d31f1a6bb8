#include <algorithm>
#include <array>

#include "capture/cpu/makers.hpp"

namespace syncopate::capture {

namespace {

using dnnl::memory;

/// Maximum or mean of each window. A mean counts only pixels inside the image.
class Pooling : public PrimitiveOp {
 public:
  Pooling(const CpuLayer& layer, dnnl::algorithm algorithm, const Attributes& window) : PrimitiveOp(layer) {
    const Shape& input = layer.shapes[0];
    const memory::desc from = image_desc(layer.batch, input);
    const memory::desc to = image_desc(layer.batch, layer.layer.output);
    const memory::dims kernel = {window.kernel[0], window.kernel[1]};
    const memory::dims stride = {window.stride[0], window.stride[1]};
    const memory::dims before = {window.pad[0], window.pad[1]};
    memory::dims after;
    for (const std::size_t i : {0U, 1U})
      after.push_back((layer.layer.output[i + 1] - 1) * stride[i] + kernel[i] - input[i + 1] - before[i]);
    const dnnl::pooling_forward::primitive_desc chosen(
        {dnnl::prop_kind::forward_training, algorithm, from, to, stride, kernel, before, after}, layer.engine);
    forward_ = dnnl::pooling_forward(chosen);
    forward_arguments_ = {{DNNL_ARG_SRC, view(from, layer.inputs[0])}, {DNNL_ARG_DST, view(to, layer.output)}};
    kernels_[0] = chosen.impl_info_str();
    const memory workspace = new_memory(chosen.workspace_desc());
    forward_arguments_.emplace(DNNL_ARG_WORKSPACE, workspace);
    if (!has_backward()) return;
    const dnnl::pooling_backward::primitive_desc backward_chosen({algorithm, from, to, stride, kernel, before, after}, layer.engine,
                                                                 chosen);
    backward_ = dnnl::pooling_backward(backward_chosen);
    backward_arguments_ = {{DNNL_ARG_DIFF_DST, view(to, layer.output_gradient)},
                           {DNNL_ARG_DIFF_SRC, view(from, layer.input_gradients[0])},
                           {DNNL_ARG_WORKSPACE, workspace}};
    kernels_[1] = backward_chosen.impl_info_str();
  }
};

/// Means over windows of different sizes, as in PyTorch. Of m windows over n pixels, window i is [floor(i n / m), ceil((i + 1) n / m)).
class UnevenPooling : public CpuOp {
 public:
  using CpuOp::CpuOp;

  void forward() override {
    std::fill_n(layer_.output, layer_.output_elements(), 0.0F);
    for_each_pixel([this](std::int64_t from, std::int64_t to, float share) {
      for (std::int64_t i = 0; i < channels_; ++i) layer_.output[to + i] += share * layer_.inputs[0][from + i];
    });
  }

  void backward() override {
    float* gradient = layer_.input_gradients[0];
    if (gradient == nullptr) return;
    std::fill_n(gradient, layer_.input_elements(0), 0.0F);
    for_each_pixel([&](std::int64_t from, std::int64_t to, float share) {
      for (std::int64_t i = 0; i < channels_; ++i) gradient[from + i] += share * layer_.output_gradient[to + i];
    });
  }

 private:
  /// Calls visit(input pixel, output pixel, 1 / pixels of the window) for each pixel of each window.
  template <class Visit>
  void for_each_pixel(Visit visit) const {
    const Shape& input = layer_.shapes[0];
    const Shape& output = layer_.layer.output;
    for (std::int64_t pixel = 0; pixel < layer_.batch * output[1] * output[2]; ++pixel) {
      const std::int64_t sample = pixel / (output[1] * output[2]);
      const auto [top, bottom] = window(pixel / output[2] % output[1], input[1], output[1]);
      const auto [left, right] = window(pixel % output[2], input[2], output[2]);
      const float share = 1.0F / static_cast<float>((bottom - top) * (right - left));
      for (std::int64_t y = top; y < bottom; ++y) {
        for (std::int64_t x = left; x < right; ++x) visit(((sample * input[1] + y) * input[2] + x) * channels_, pixel * channels_, share);
      }
    }
  }

  static std::array<std::int64_t, 2> window(std::int64_t i, std::int64_t input, std::int64_t output) {
    return {i * input / output, ((i + 1) * input + output - 1) / output};
  }

  std::int64_t channels_ = layer_.layer.output[0];
};

/// Maximum of each feature over all tokens. The gradient goes to the token with the maximum.
class MaxOverTime : public CpuOp {
 public:
  explicit MaxOverTime(const CpuLayer& layer) : CpuOp(layer), winners_(static_cast<std::size_t>(layer.output_elements())) {}

  void forward() override {
    for (std::int64_t sample = 0; sample < layer_.batch; ++sample) {
      const float* input = layer_.inputs[0] + sample * tokens_ * width_;
      float* output = layer_.output + sample * width_;
      std::int64_t* winner = winners_.data() + sample * width_;
      std::copy_n(input, width_, output);
      std::fill_n(winner, width_, 0);
      for (std::int64_t token = 1; token < tokens_; ++token) {
        for (std::int64_t i = 0; i < width_; ++i) {
          const float value = input[token * width_ + i];
          if (value > output[i]) {
            output[i] = value;
            winner[i] = token;
          }
        }
      }
    }
  }

  void backward() override {
    float* gradient = layer_.input_gradients[0];
    if (gradient == nullptr) return;
    std::fill_n(gradient, layer_.input_elements(0), 0.0F);
    for (std::int64_t sample = 0; sample < layer_.batch; ++sample) {
      for (std::int64_t i = 0; i < width_; ++i) {
        const std::int64_t from = sample * width_ + i;
        gradient[(sample * tokens_ + winners_[static_cast<std::size_t>(from)]) * width_ + i] = layer_.output_gradient[from];
      }
    }
  }

 private:
  std::int64_t tokens_ = layer_.shapes[0][0];
  std::int64_t width_ = layer_.shapes[0][1];
  std::vector<std::int64_t> winners_;
};

}  // namespace

std::unique_ptr<CpuOp> make_max_pooling(const CpuLayer& layer) {
  return std::make_unique<Pooling>(layer, dnnl::algorithm::pooling_max, layer.attributes());
}

std::unique_ptr<CpuOp> make_average_pooling(const CpuLayer& layer) {
  return std::make_unique<Pooling>(layer, dnnl::algorithm::pooling_avg_exclude_padding, layer.attributes());
}

std::unique_ptr<CpuOp> make_adaptive_pooling(const CpuLayer& layer) {
  if (!has_equal_windows(layer.shapes[0], layer.layer)) return std::make_unique<UnevenPooling>(layer);
  return std::make_unique<Pooling>(layer, dnnl::algorithm::pooling_avg_exclude_padding, adaptive_window(layer.shapes[0], layer.layer));
}

std::unique_ptr<CpuOp> make_max_over_time(const CpuLayer& layer) { return std::make_unique<MaxOverTime>(layer); }

}  // namespace syncopate::capture
