#include <algorithm>

#include "capture/cpu/makers.hpp"
#include "capture/dropout.hpp"

namespace syncopate::capture {

namespace {

using dnnl::memory;

class Activation : public PrimitiveOp {
 public:
  Activation(const CpuLayer& layer, dnnl::algorithm algorithm, float alpha = 0.0F) : PrimitiveOp(layer) {
    const memory::desc desc = flat_desc(layer.output_elements());
    const dnnl::eltwise_forward::primitive_desc chosen({dnnl::prop_kind::forward_training, algorithm, desc, alpha}, layer.engine);
    forward_ = dnnl::eltwise_forward(chosen);
    const memory input = view(desc, layer.inputs[0]);
    forward_arguments_ = {{DNNL_ARG_SRC, input}, {DNNL_ARG_DST, view(desc, layer.output)}};
    kernels_[0] = chosen.impl_info_str();
    if (!has_backward()) return;
    const dnnl::eltwise_backward::primitive_desc backward_chosen({algorithm, desc, desc, alpha}, layer.engine, chosen);
    backward_ = dnnl::eltwise_backward(backward_chosen);
    backward_arguments_ = {{DNNL_ARG_SRC, input},
                           {DNNL_ARG_DIFF_DST, view(desc, layer.output_gradient)},
                           {DNNL_ARG_DIFF_SRC, view(desc, layer.input_gradients[0])}};
    kernels_[1] = backward_chosen.impl_info_str();
  }
};

/// Zeros half of the elements at random and doubles the others. Backward draws the same numbers again.
class Dropout : public CpuOp {
 public:
  using CpuOp::CpuOp;
  void forward() override { drop(layer_.inputs[0], layer_.output); }
  void backward() override {
    if (layer_.input_gradients[0] != nullptr) drop(layer_.output_gradient, layer_.input_gradients[0]);
  }

 private:
  void drop(const float* from, float* to) const {
    const std::int64_t count = layer_.output_elements();
    const auto index = static_cast<std::uint32_t>(layer_.index);
    const auto keep = [=, this](std::int64_t first, std::int64_t last) {
      const auto words = dropout_words(layer_.iteration, index, static_cast<std::uint64_t>(first / 4));
      for (std::int64_t i = first; i < last; ++i)
        to[i] = words[static_cast<std::size_t>(i - first)] < dropout_kept ? dropout_scale * from[i] : 0.0F;
    };
    const std::int64_t whole = count / 4 * 4;
    for (std::int64_t first = 0; first < whole; first += 4) keep(first, first + 4);
    if (whole < count) keep(whole, count);
  }
};

}  // namespace

std::unique_ptr<CpuOp> make_relu(const CpuLayer& layer) { return std::make_unique<Activation>(layer, dnnl::algorithm::eltwise_relu); }
std::unique_ptr<CpuOp> make_tanh(const CpuLayer& layer) { return std::make_unique<Activation>(layer, dnnl::algorithm::eltwise_tanh); }
std::unique_ptr<CpuOp> make_gelu(const CpuLayer& layer) { return std::make_unique<Activation>(layer, dnnl::algorithm::eltwise_gelu_erf); }
std::unique_ptr<CpuOp> make_silu(const CpuLayer& layer) {
  return std::make_unique<Activation>(layer, dnnl::algorithm::eltwise_swish, 1.0F);
}
std::unique_ptr<CpuOp> make_sigmoid(const CpuLayer& layer) {
  return std::make_unique<Activation>(layer, dnnl::algorithm::eltwise_logistic);
}
std::unique_ptr<CpuOp> make_dropout(const CpuLayer& layer) { return std::make_unique<Dropout>(layer); }

}  // namespace syncopate::capture
