#include <cmath>

#include "capture/cpu/makers.hpp"

namespace syncopate::capture {

namespace {

using dnnl::memory;

/// softmax(Q K^T / sqrt(d)) V for every head. A. Vaswani et al., "Attention is all you need", NIPS'17, Eq. 1.
class Attention : public CpuOp {
 public:
  explicit Attention(const CpuLayer& layer) : CpuOp(layer) {
    const std::int64_t heads = layer.attributes().heads;
    const std::int64_t tokens = layer.shapes[0][0];
    const std::int64_t width = layer.shapes[0][1];
    const std::int64_t depth = width / heads;
    // A token holds the numbers of head 0, then those of head 1, and so on.
    const memory::desc rows({layer.batch, heads, tokens, depth}, memory::data_type::f32, {tokens * width, depth, width, 1});
    const memory::desc columns({layer.batch, heads, depth, tokens}, memory::data_type::f32, {tokens * width, depth, 1, width});
    const memory::dims square = {layer.batch, heads, tokens, tokens};
    const memory::desc scores(square, memory::data_type::f32, memory::format_tag::abcd);
    const memory::desc transposed(square, memory::data_type::f32, memory::format_tag::abdc);
    const float scale = 1.0F / std::sqrt(static_cast<float>(depth));
    const memory weights = new_memory(scores);
    const memory weights_gradient = new_memory(scores);
    const auto input = [&](std::size_t slot, const memory::desc& desc) { return view(desc, layer.inputs[slot]); };

    add_product(forward_, input(0, rows), input(1, columns), weights, scale);
    const dnnl::softmax_forward::primitive_desc softmax({dnnl::prop_kind::forward_training, scores, 3}, layer.engine);
    forward_.push_back({dnnl::softmax_forward(softmax), {{DNNL_ARG_SRC, weights}, {DNNL_ARG_DST, weights}}});
    add_product(forward_, weights, input(2, rows), view(rows, layer.output));

    if (layer.output_gradient == nullptr) return;
    const memory gradient = view(rows, layer.output_gradient);
    const auto in_transposed = [&](const memory& matrix) { return view(transposed, data(matrix)); };
    if (layer.input_gradients[2] != nullptr) add_product(backward_, in_transposed(weights), gradient, view(rows, layer.input_gradients[2]));
    if (layer.input_gradients[0] == nullptr && layer.input_gradients[1] == nullptr) return;
    add_product(backward_, gradient, input(2, columns), weights_gradient);
    const dnnl::softmax_backward::primitive_desc softmax_backward({scores, scores, 3}, layer.engine, softmax);
    backward_.push_back({dnnl::softmax_backward(softmax_backward),
                         {{DNNL_ARG_DST, weights}, {DNNL_ARG_DIFF_DST, weights_gradient}, {DNNL_ARG_DIFF_SRC, weights_gradient}}});
    if (layer.input_gradients[0] != nullptr)
      add_product(backward_, weights_gradient, input(1, rows), view(rows, layer.input_gradients[0]), scale);
    if (layer.input_gradients[1] != nullptr)
      add_product(backward_, in_transposed(weights_gradient), input(0, rows), view(rows, layer.input_gradients[1]), scale);
  }

  void forward() override { run_all(forward_); }
  void backward() override { run_all(backward_); }
  std::vector<std::string> kernels() const override { return {product_kernel_, product_kernel_, ""}; }

 private:
  void add_product(std::vector<Step>& steps, const memory& left, const memory& right, const memory& result, float scale = 1.0F) {
    dnnl::primitive_attr attributes;
    if (scale != 1.0F) attributes.set_output_scales(0, {scale});
    const dnnl::matmul::primitive_desc chosen({left.get_desc(), right.get_desc(), result.get_desc()}, attributes, layer_.engine);
    steps.push_back({dnnl::matmul(chosen), {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, result}}});
    product_kernel_ = chosen.impl_info_str();
  }

  void run_all(const std::vector<Step>& steps) const {
    for (const Step& step : steps) run(step);
  }

  std::vector<Step> forward_;
  std::vector<Step> backward_;
  std::string product_kernel_;
};

}  // namespace

std::unique_ptr<CpuOp> make_attention(const CpuLayer& layer) { return std::make_unique<Attention>(layer); }

}  // namespace syncopate::capture
