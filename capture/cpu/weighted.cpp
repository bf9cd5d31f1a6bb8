#include "capture/cpu/makers.hpp"

namespace syncopate::capture {

namespace {

using dnnl::memory;

/// A layer with weights and bias: a convolution or a matrix product.
class Weighted : public CpuOp {
 public:
  using CpuOp::CpuOp;

  void forward() override { run(forward_, forward_arguments_); }

  void backward() override {
    if (backward_data_) {
      run(arrange_weight_);
      run(backward_data_, data_arguments_);
    }
    run(backward_weights_, weights_arguments_);
    run(arrange_gradient_);
  }

  std::vector<std::string> kernels() const override { return kernels_; }

 protected:
  /// Makes the three primitives. The forward primitive chooses the layout of the weights; `dims` is their shape in plain order.
  template <class Forward, class BackwardData, class BackwardWeights>
  void build(const Forward::desc& forward, const BackwardData::desc& of_data, const BackwardWeights::desc& of_weights,
             const memory::dims& dims) {
    const typename Forward::primitive_desc chosen(forward, layer_.engine);
    forward_ = Forward(chosen);
    const memory input = view(chosen.src_desc(), layer_.inputs[0]);
    const memory output_gradient = view(chosen.dst_desc(), layer_.output_gradient);
    const CpuParameter weight = add_parameter(chosen.weights_desc(), dims);
    forward_arguments_ = {{DNNL_ARG_SRC, input}, {DNNL_ARG_WEIGHTS, weight.value}, {DNNL_ARG_DST, view(chosen.dst_desc(), layer_.output)}};

    const typename BackwardWeights::primitive_desc weights_chosen(of_weights, layer_.engine, chosen);
    backward_weights_ = BackwardWeights(weights_chosen);
    const memory weight_gradient = in_layout(weights_chosen.diff_weights_desc(), weight.gradient);
    arrange_gradient_ = copy(weight_gradient, weight.gradient);
    weights_arguments_ = {{DNNL_ARG_SRC, input}, {DNNL_ARG_DIFF_DST, output_gradient}, {DNNL_ARG_DIFF_WEIGHTS, weight_gradient}};
    if (layer_.attributes().bias) {
      const CpuParameter bias = add_parameter(chosen.bias_desc(), chosen.bias_desc().dims());
      forward_arguments_.emplace(DNNL_ARG_BIAS, bias.value);
      weights_arguments_.emplace(DNNL_ARG_DIFF_BIAS, bias.gradient);
    }
    kernels_ = {chosen.impl_info_str(), "", weights_chosen.impl_info_str()};

    if (layer_.input_gradients[0] == nullptr) return;
    const typename BackwardData::primitive_desc data_chosen(of_data, layer_.engine, chosen);
    backward_data_ = BackwardData(data_chosen);
    const memory data_weight = in_layout(data_chosen.weights_desc(), weight.value);
    arrange_weight_ = copy(weight.value, data_weight);
    data_arguments_ = {{DNNL_ARG_DIFF_DST, output_gradient},
                       {DNNL_ARG_WEIGHTS, data_weight},
                       {DNNL_ARG_DIFF_SRC, view(chosen.src_desc(), layer_.input_gradients[0])}};
    kernels_[1] = data_chosen.impl_info_str();
  }

 private:
  /// `tensor` itself if it has the layout, else new memory with that layout.
  memory in_layout(const memory::desc& desc, const memory& tensor) const { return tensor.get_desc() == desc ? tensor : new_memory(desc); }

  dnnl::primitive forward_;
  dnnl::primitive backward_data_;
  dnnl::primitive backward_weights_;
  Step arrange_weight_;    // for the gradient of the input
  Step arrange_gradient_;  // into the layout of the weights
  Arguments forward_arguments_;
  Arguments data_arguments_;
  Arguments weights_arguments_;
  std::vector<std::string> kernels_;
};

memory::desc any_layout(const memory::dims& dims) { return {dims, memory::data_type::f32, memory::format_tag::any}; }

/// conv2d. Also conv1d: the sequence is an image of height 1 whose channels are the token's width.
class Convolution : public Weighted {
 public:
  explicit Convolution(const CpuLayer& layer) : Weighted(layer) {
    const Attributes& a = layer.attributes();
    const Shape input = as_image(layer.shapes[0]);
    const Shape output = as_image(layer.layer.output);
    const memory::desc from = image_desc(layer.batch, input);
    const memory::desc to = image_desc(layer.batch, output);
    const memory::desc bias = a.bias ? flat_desc(output[0]) : memory::desc();
    memory::dims dims = {output[0], input[0], a.kernel[0], a.kernel[1]};
    if (a.groups > 1) dims = {a.groups, output[0] / a.groups, input[0] / a.groups, a.kernel[0], a.kernel[1]};
    const memory::desc weight = any_layout(dims);
    const memory::dims stride = {a.stride[0], a.stride[1]};
    const memory::dims pad = {a.pad[0], a.pad[1]};
    constexpr auto direct = dnnl::algorithm::convolution_direct;
    build<dnnl::convolution_forward, dnnl::convolution_backward_data, dnnl::convolution_backward_weights>(
        {dnnl::prop_kind::forward_training, direct, from, weight, bias, to, stride, pad, pad}, {direct, from, weight, to, stride, pad, pad},
        {direct, from, weight, bias, to, stride, pad, pad}, dims);
  }

 private:
  static Shape as_image(const Shape& shape) { return shape.size() == 3 ? shape : Shape{shape[1], 1, shape[0]}; }
};

/// conv_transpose2d: what backward of a convolution computes for its input.
class TransposedConvolution : public Weighted {
 public:
  explicit TransposedConvolution(const CpuLayer& layer) : Weighted(layer) {
    const Attributes& a = layer.attributes();
    const Shape& input = layer.shapes[0];
    const Shape& output = layer.layer.output;
    const memory::desc from = image_desc(layer.batch, input);
    const memory::desc to = image_desc(layer.batch, output);
    const memory::desc bias = a.bias ? flat_desc(output[0]) : memory::desc();
    const memory::dims dims = {output[0], input[0], a.kernel[0], a.kernel[1]};
    const memory::desc weight = any_layout(dims);
    const memory::dims stride = {a.stride[0], a.stride[1]};
    const memory::dims pad = {a.pad[0], a.pad[1]};
    constexpr auto direct = dnnl::algorithm::deconvolution_direct;
    build<dnnl::deconvolution_forward, dnnl::deconvolution_backward_data, dnnl::deconvolution_backward_weights>(
        {dnnl::prop_kind::forward_training, direct, from, weight, bias, to, stride, pad, pad}, {direct, from, weight, to, stride, pad, pad},
        {direct, from, weight, bias, to, stride, pad, pad}, dims);
    parameters_[0].plain = {dims, memory::data_type::f32, memory::format_tag::bacd};  // model/1 has the input's channels first
  }
};

/// Multiplies every row (sample or token) with the weights.
class Linear : public Weighted {
 public:
  explicit Linear(const CpuLayer& layer) : Weighted(layer) {
    const memory::dims dims = {layer.layer.output.back(), layer.shapes[0].back()};
    const memory::desc from = matrix_desc(layer.rows(), dims[1]);
    const memory::desc to = matrix_desc(layer.rows(), dims[0]);
    const memory::desc bias = layer.attributes().bias ? flat_desc(dims[0]) : memory::desc();
    const memory::desc weight = any_layout(dims);
    build<dnnl::inner_product_forward, dnnl::inner_product_backward_data, dnnl::inner_product_backward_weights>(
        {dnnl::prop_kind::forward_training, from, weight, bias, to}, {from, weight, to}, {from, weight, bias, to}, dims);
  }
};

}  // namespace

std::unique_ptr<CpuOp> make_convolution(const CpuLayer& layer) { return std::make_unique<Convolution>(layer); }

std::unique_ptr<CpuOp> make_transposed_convolution(const CpuLayer& layer) { return std::make_unique<TransposedConvolution>(layer); }

std::unique_ptr<CpuOp> make_linear(const CpuLayer& layer) { return std::make_unique<Linear>(layer); }

}  // namespace syncopate::capture
