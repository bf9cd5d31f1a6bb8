#include "capture/cpu/makers.hpp"

namespace syncopate::capture {

namespace {

using dnnl::memory;

/// Multiplies every token with an embedding's transposed table, which stays the embedding's parameter.
class TiedLinear : public CpuOp {
 public:
  explicit TiedLinear(const CpuLayer& layer) : CpuOp(layer) {
    const std::int64_t entries = layer.layer.output.back();
    const std::int64_t width = layer.shapes[0].back();
    const std::int64_t rows = layer.rows();
    const memory input = view(matrix_desc(rows, width), layer.inputs[0]);
    const CpuParameter& table = *layer.table;
    forward_ = product(input, transposed(table.value, entries, width), view(matrix_desc(rows, entries), layer.output), false);
    const memory gradient = view(matrix_desc(rows, entries), layer.output_gradient);
    if (layer.input_gradients[0] != nullptr)
      backward_data_ = product(gradient, table.value, view(matrix_desc(rows, width), layer.input_gradients[0]), false);
    backward_weight_ = product(transposed(gradient, rows, entries), input, table.gradient, layer.adds_to_gradient);
  }

  void forward() override { run(forward_); }
  void backward() override {
    run(backward_data_);
    run(backward_weight_);
  }
  std::vector<std::string> kernels() const override { return {kernel_, backward_data_.primitive ? kernel_ : "", kernel_}; }

 private:
  memory transposed(const memory& matrix, std::int64_t rows, std::int64_t columns) const {
    return view({{columns, rows}, memory::data_type::f32, memory::dims{1, columns}}, data(matrix));
  }

  /// The result, or what is added to it.
  Step product(const memory& left, const memory& right, const memory& result, bool adds) {
    dnnl::primitive_attr attributes;
    dnnl::post_ops after;
    if (adds) after.append_sum(1.0F);
    attributes.set_post_ops(after);
    const dnnl::matmul::primitive_desc chosen({left.get_desc(), right.get_desc(), result.get_desc()}, attributes, layer_.engine);
    kernel_ = chosen.impl_info_str();
    return {dnnl::matmul(chosen), {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, result}}};
  }

  Step forward_;
  Step backward_data_;
  Step backward_weight_;
  std::string kernel_;
};

}  // namespace

std::unique_ptr<CpuOp> make_tied_linear(const CpuLayer& layer) { return std::make_unique<TiedLinear>(layer); }

}  // namespace syncopate::capture
