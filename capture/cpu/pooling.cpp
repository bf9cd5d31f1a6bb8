#include <fmt/format.h>

#include "base/errors.hpp"
#include "capture/cpu/makers.hpp"

namespace syncopate::capture {

namespace {

using dnnl::memory;

/// The largest or the mean of each window. Means are over what lies inside the image.
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

/// The largest of each feature over all tokens; its gradient goes to the token that had it.
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
  return std::make_unique<Pooling>(layer, dnnl::algorithm::pooling_avg_exclude_padding, adaptive_window(layer.shapes[0], layer.layer));
}

std::unique_ptr<CpuOp> make_max_over_time(const CpuLayer& layer) { return std::make_unique<MaxOverTime>(layer); }

}  // namespace syncopate::capture
