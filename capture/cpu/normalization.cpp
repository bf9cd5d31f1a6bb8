#include <algorithm>

#include "capture/cpu/makers.hpp"

namespace syncopate::capture {

namespace {

using dnnl::memory;

constexpr float epsilon = 1e-5F;
const auto scale_and_shift = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;

/// Batch or layer normalization. They differ in the dimensions over which they average.
class Normalization : public PrimitiveOp {
 public:
  using PrimitiveOp::PrimitiveOp;

 protected:
  template <class Forward, class Backward>
  void build(const memory::desc& desc, std::int64_t width) {
    const typename Forward::primitive_desc chosen({dnnl::prop_kind::forward_training, desc, epsilon, scale_and_shift}, layer_.engine);
    forward_ = Forward(chosen);
    mean_ = new_memory(chosen.mean_desc());
    variance_ = new_memory(chosen.variance_desc());
    const CpuParameter scale = add_parameter(flat_desc(width), {width});
    const CpuParameter shift = add_parameter(flat_desc(width), {width});
    const memory input = view(desc, layer_.inputs[0]);
    forward_arguments_ = {{DNNL_ARG_SRC, input},         {DNNL_ARG_DST, view(desc, layer_.output)},
                          {DNNL_ARG_MEAN, mean_},        {DNNL_ARG_VARIANCE, variance_},
                          {DNNL_ARG_SCALE, scale.value}, {DNNL_ARG_SHIFT, shift.value}};
    const typename Backward::primitive_desc backward_chosen({dnnl::prop_kind::backward, desc, desc, epsilon, scale_and_shift},
                                                            layer_.engine, chosen);
    backward_ = Backward(backward_chosen);
    const memory input_gradient = has_backward() ? view(desc, layer_.input_gradients[0]) : new_memory(desc);
    backward_arguments_ = {{DNNL_ARG_SRC, input},
                           {DNNL_ARG_DIFF_DST, view(desc, layer_.output_gradient)},
                           {DNNL_ARG_MEAN, mean_},
                           {DNNL_ARG_VARIANCE, variance_},
                           {DNNL_ARG_SCALE, scale.value},
                           {DNNL_ARG_SHIFT, shift.value},
                           {DNNL_ARG_DIFF_SRC, input_gradient},
                           {DNNL_ARG_DIFF_SCALE, scale.gradient},
                           {DNNL_ARG_DIFF_SHIFT, shift.gradient}};
    kernels_ = {chosen.impl_info_str(), backward_chosen.impl_info_str(), ""};
  }

  memory mean_;
  memory variance_;
};

/// S. Ioffe, C. Szegedy, "Batch normalization", ICML'15. Also updates the running statistics for inference.
class BatchNorm : public Normalization {
 public:
  explicit BatchNorm(const CpuLayer& layer) : Normalization(layer) {
    const std::int64_t channels = layer.layer.output[0];
    build<dnnl::batch_normalization_forward, dnnl::batch_normalization_backward>(image_desc(layer.batch, layer.layer.output), channels);
    running_mean_.resize(static_cast<std::size_t>(channels));
    running_variance_.resize(static_cast<std::size_t>(channels), 1.0F);
  }

  void forward() override {
    Normalization::forward();
    const auto track = [](std::vector<float>& running, const float* now) {
      constexpr float momentum = 0.1F;
      std::transform(running.begin(), running.end(), now, running.begin(), [](float a, float b) { return a + momentum * (b - a); });
    };
    track(running_mean_, data(mean_));
    track(running_variance_, data(variance_));
  }

 private:
  std::vector<float> running_mean_;
  std::vector<float> running_variance_;
};

class LayerNorm : public Normalization {
 public:
  explicit LayerNorm(const CpuLayer& layer) : Normalization(layer) {
    const std::int64_t width = layer.layer.output.back();
    build<dnnl::layer_normalization_forward, dnnl::layer_normalization_backward>(matrix_desc(layer.rows(), width), width);
  }
};

/// Local response normalization across channels. The constants are GoogLeNet's, which are PyTorch's defaults.
class Lrn : public PrimitiveOp {
 public:
  explicit Lrn(const CpuLayer& layer) : PrimitiveOp(layer) {
    constexpr int size = 5;
    constexpr float alpha = 1e-4F;
    constexpr float beta = 0.75F;
    constexpr float k = 1.0F;
    constexpr auto across = dnnl::algorithm::lrn_across_channels;
    const memory::desc desc = image_desc(layer.batch, layer.layer.output);
    const dnnl::lrn_forward::primitive_desc chosen({dnnl::prop_kind::forward_training, across, desc, size, alpha, beta, k}, layer.engine);
    forward_ = dnnl::lrn_forward(chosen);
    const memory workspace = new_memory(chosen.workspace_desc());
    const memory input = view(desc, layer.inputs[0]);
    forward_arguments_ = {{DNNL_ARG_SRC, input}, {DNNL_ARG_DST, view(desc, layer.output)}, {DNNL_ARG_WORKSPACE, workspace}};
    kernels_[0] = chosen.impl_info_str();
    if (!has_backward()) return;
    const dnnl::lrn_backward::primitive_desc backward_chosen({across, desc, desc, size, alpha, beta, k}, layer.engine, chosen);
    backward_ = dnnl::lrn_backward(backward_chosen);
    backward_arguments_ = {{DNNL_ARG_SRC, input},
                           {DNNL_ARG_DIFF_DST, view(desc, layer.output_gradient)},
                           {DNNL_ARG_DIFF_SRC, view(desc, layer.input_gradients[0])},
                           {DNNL_ARG_WORKSPACE, workspace}};
    kernels_[1] = backward_chosen.impl_info_str();
  }
};

}  // namespace

std::unique_ptr<CpuOp> make_batch_norm(const CpuLayer& layer) { return std::make_unique<BatchNorm>(layer); }
std::unique_ptr<CpuOp> make_layer_norm(const CpuLayer& layer) { return std::make_unique<LayerNorm>(layer); }
std::unique_ptr<CpuOp> make_lrn(const CpuLayer& layer) { return std::make_unique<Lrn>(layer); }

}  // namespace syncopate::capture
