#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "capture/cpu/makers.hpp"

namespace syncopate::capture {

namespace {

using dnnl::memory;

/// softmax(Q K^T / sqrt(d)) V for every head; if causal, of each token with itself and earlier ones. Reads query, key and value, or one
/// input that has them side by side. A. Vaswani et al., "Attention is all you need", NIPS'17, Eq. 1.
class Attention : public CpuOp {
 public:
  explicit Attention(const CpuLayer& layer) : CpuOp(layer) {
    const std::int64_t heads = layer.attributes().heads;
    const std::int64_t tokens = layer.shapes[0][0];
    const std::int64_t width = layer.layer.output[1];
    const std::int64_t depth = width / heads;
    // A token holds the numbers of head 0, then those of head 1, and so on.
    const std::int64_t step = layer.shapes[0][1];  // from a token of an input to the next one
    const memory::dims extents = {layer.batch, heads, tokens, depth};
    const memory::desc rows(extents, memory::data_type::f32, {tokens * width, depth, width, 1});
    const memory::desc input_rows(extents, memory::data_type::f32, {tokens * step, depth, step, 1});
    const memory::desc input_columns({layer.batch, heads, depth, tokens}, memory::data_type::f32, {tokens * step, depth, 1, step});
    const memory::dims square = {layer.batch, heads, tokens, tokens};
    const memory::desc scores(square, memory::data_type::f32, memory::format_tag::abcd);
    const memory::desc transposed(square, memory::data_type::f32, memory::format_tag::abdc);
    const float scale = 1.0F / std::sqrt(static_cast<float>(depth));
    const memory weights = new_memory(scores);
    const memory weights_gradient = new_memory(scores);
    // Query, key and value, and their gradients.
    std::array<float*, 3> inputs{};
    std::array<float*, 3> gradients{};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool apart = layer.inputs.size() > 1;
      const std::size_t slot = apart ? i : 0;
      const std::int64_t first = apart ? 0 : static_cast<std::int64_t>(i) * width;
      inputs[i] = layer.inputs[slot] + first;
      if (layer.input_gradients[slot] != nullptr) gradients[i] = layer.input_gradients[slot] + first;
    }
    const auto input = [&](std::size_t i, const memory::desc& desc) { return view(desc, inputs[i]); };

    add_product(scores_, input(0, input_rows), input(1, input_columns), weights, scale);
    if (layer.attributes().causal) masked_ = weights;
    const dnnl::softmax_forward::primitive_desc softmax({dnnl::prop_kind::forward_training, scores, 3}, layer.engine);
    forward_.push_back({dnnl::softmax_forward(softmax), {{DNNL_ARG_SRC, weights}, {DNNL_ARG_DST, weights}}});
    add_product(forward_, weights, input(2, input_rows), view(rows, layer.output));

    if (layer.output_gradient == nullptr) return;
    const memory gradient = view(rows, layer.output_gradient);
    const auto in_transposed = [&](const memory& matrix) { return view(transposed, data(matrix)); };
    if (gradients[2] != nullptr) add_product(backward_, in_transposed(weights), gradient, view(input_rows, gradients[2]));
    if (gradients[0] == nullptr && gradients[1] == nullptr) return;
    add_product(backward_, gradient, input(2, input_columns), weights_gradient);
    const dnnl::softmax_backward::primitive_desc softmax_backward({scores, scores, 3}, layer.engine, softmax);
    backward_.push_back({dnnl::softmax_backward(softmax_backward),
                         {{DNNL_ARG_DST, weights}, {DNNL_ARG_DIFF_DST, weights_gradient}, {DNNL_ARG_DIFF_SRC, weights_gradient}}});
    if (gradients[0] != nullptr) add_product(backward_, weights_gradient, input(1, input_rows), view(input_rows, gradients[0]), scale);
    if (gradients[1] != nullptr)
      add_product(backward_, in_transposed(weights_gradient), input(0, input_rows), view(input_rows, gradients[1]), scale);
  }

  void forward() override {
    run_all(scores_);
    if (masked_) mask();
    run_all(forward_);
  }
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

  /// Hides later tokens: their weights become 0, and so does what backward computes from them.
  void mask() {
    layer_.stream.wait();
    const std::int64_t tokens = layer_.shapes[0][0];
    float* row = data(masked_);
    for (std::int64_t i = 0; i < layer_.batch * layer_.attributes().heads * tokens; ++i, row += tokens)
      std::fill(row + i % tokens + 1, row + tokens, -std::numeric_limits<float>::infinity());
  }

  void run_all(const std::vector<Step>& steps) const {
    for (const Step& step : steps) run(step);
  }

  std::vector<Step> scores_;
  memory masked_;              // the scores, if causal
  std::vector<Step> forward_;  // from the scores on
  std::vector<Step> backward_;
  std::string product_kernel_;
};

}  // namespace

std::unique_ptr<CpuOp> make_attention(const CpuLayer& layer) { return std::make_unique<Attention>(layer); }

}  // namespace syncopate::capture
