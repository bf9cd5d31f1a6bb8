#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/errors.hpp"
#include "capture/cuda/makers.hpp"
#include "capture/cuda/weighted.hpp"

namespace syncopate::capture {

namespace {

/// The algorithm of forward, or of one of the backward passes.
template <class Algorithm>
struct Pass {
  ConvolutionDescriptor descriptor{cudnnCreateConvolutionDescriptor, "cudnnCreateConvolutionDescriptor"};  // arithmetic is part of it
  Algorithm algorithm = {};
  std::size_t workspace = 0;
  std::string name;  // empty: this pass never runs
};

std::string_view name_of(cudnnConvolutionFwdAlgo_t algorithm) {
  constexpr std::array<std::string_view, CUDNN_CONVOLUTION_FWD_ALGO_COUNT> names = {
      "IMPLICIT_GEMM", "IMPLICIT_PRECOMP_GEMM", "GEMM", "DIRECT", "FFT", "FFT_TILING", "WINOGRAD", "WINOGRAD_NONFUSED"};
  return names.at(algorithm);
}

std::string_view name_of(cudnnConvolutionBwdDataAlgo_t algorithm) {
  constexpr std::array<std::string_view, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT> names = {"ALGO_0",     "ALGO_1",   "FFT",
                                                                                         "FFT_TILING", "WINOGRAD", "WINOGRAD_NONFUSED"};
  return names.at(algorithm);
}

std::string_view name_of(cudnnConvolutionBwdFilterAlgo_t algorithm) {
  constexpr std::array<std::string_view, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT> names = {
      "ALGO_0", "ALGO_1", "FFT", "ALGO_3", "WINOGRAD", "WINOGRAD_NONFUSED", "FFT_TILING"};
  return names.at(algorithm);
}

std::string_view name_of(cudnnMathType_t math) {
  switch (math) {
    case CUDNN_DEFAULT_MATH: return "DEFAULT_MATH";
    case CUDNN_TENSOR_OP_MATH: return "TENSOR_OP_MATH";
    case CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION: return "TENSOR_OP_MATH_ALLOW_CONVERSION";
    case CUDNN_FMA_MATH: return "FMA_MATH";
  }
  return "";
}

/// conv2d over images, and conv1d as one over images of height 1 whose channels are the width of a token.
class Convolution : public Weighted {
 public:
  explicit Convolution(const CudaLayer& layer) : Weighted(layer) {
    add_weight_and_bias(channels_last_);
    const Shape input = as_image(layer.shapes[0]);
    const Shape output = as_image(layer.layer.output);
    describe(input_, layer.batch(), input);
    describe(output_, layer.batch(), output);
    describe(bias_, 1, {output[0], 1, 1});
    const Attributes& a = layer.attributes();
    check(cudnnSetFilter4dDescriptor(filter_.get(), cudnn_type(layer.tools.number), format(), to_int(output[0]),
                                     to_int(input[0] / a.groups), to_int(a.kernel[0]), to_int(a.kernel[1])),
          "cudnnSetFilter4dDescriptor");
    describe(forward_.descriptor);
    describe(backward_data_.descriptor);
    describe(backward_filter_.descriptor);
  }

  std::size_t prepare() override {
    choose_forward();
    choose_backward_filter();
    if (layer_.input_gradients[0] != nullptr) choose_backward_data();
    return std::max({forward_.workspace, backward_data_.workspace, backward_filter_.workspace});
  }

  void forward() override {
    check(cudnnConvolutionForward(cudnn(), &one, input_.get(), layer_.inputs[0], filter_.get(), weight().value.data(),
                                  forward_.descriptor.get(), forward_.algorithm, workspace().data(), workspace().bytes(), &none,
                                  output_.get(), layer_.output),
          "cudnnConvolutionForward");
    if (!has_bias()) return;
    const std::int64_t channels = bias().count();
    const std::int64_t pixels = layer_.output_elements() / channels / layer_.batch();
    if (channels_last_) {
      add_bias(queue(), bias().value.data(), layer_.output, layer_.batch() * pixels, channels, 1);
    } else {
      add_bias(queue(), bias().value.data(), layer_.output, layer_.batch(), channels, pixels);
    }
  }

  void backward() override {
    if (layer_.input_gradients[0] != nullptr) {
      check(cudnnConvolutionBackwardData(cudnn(), &one, filter_.get(), weight().value.data(), output_.get(), layer_.output_gradient,
                                         backward_data_.descriptor.get(), backward_data_.algorithm, workspace().data(), workspace().bytes(),
                                         &none, input_.get(), layer_.input_gradients[0]),
            "cudnnConvolutionBackwardData");
    }
    check(cudnnConvolutionBackwardFilter(cudnn(), &one, input_.get(), layer_.inputs[0], output_.get(), layer_.output_gradient,
                                         backward_filter_.descriptor.get(), backward_filter_.algorithm, workspace().data(),
                                         workspace().bytes(), &none, filter_.get(), weight().gradient.data()),
          "cudnnConvolutionBackwardFilter");
    if (!has_bias()) return;
    if (channels_last_) return sum_bias_gradient();
    check(cudnnConvolutionBackwardBias(cudnn(), &one, output_.get(), layer_.output_gradient, &none, bias_.get(), bias().gradient.data()),
          "cudnnConvolutionBackwardBias");
  }

  std::vector<std::string> kernels() const override { return {forward_.name, backward_data_.name, backward_filter_.name}; }

 private:
  static Shape as_image(const Shape& shape) { return shape.size() == 3 ? shape : Shape{shape[1], 1, shape[0]}; }
  cudnnHandle_t cudnn() const { return layer_.tools.cudnn.get(); }
  const DeviceMemory& workspace() const { return layer_.tools.workspace; }
  cudnnTensorFormat_t format() const { return channels_last_ ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW; }

  void describe(const TensorDescriptor& descriptor, std::int64_t samples, const Shape& shape) const {
    check(cudnnSetTensor4dDescriptor(descriptor.get(), format(), cudnn_type(layer_.tools.number), to_int(samples), to_int(shape[0]),
                                     to_int(shape[1]), to_int(shape[2])),
          "cudnnSetTensor4dDescriptor");
  }

  void describe(const ConvolutionDescriptor& descriptor) const {
    const Attributes& a = layer_.attributes();
    check(cudnnSetConvolution2dDescriptor(descriptor.get(), to_int(a.pad[0]), to_int(a.pad[1]), to_int(a.stride[0]), to_int(a.stride[1]), 1,
                                          1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
          "cudnnSetConvolution2dDescriptor");
    check(cudnnSetConvolutionGroupCount(descriptor.get(), to_int(a.groups)), "cudnnSetConvolutionGroupCount");
    check(cudnnSetConvolutionMathType(descriptor.get(), wanted_math()), "cudnnSetConvolutionMathType");
  }

  cudnnMathType_t wanted_math() const {
    if (layer_.tools.number != Number::fp32) return CUDNN_TENSOR_OP_MATH;
    return layer_.tools.tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
  }

  /// Takes the fastest of what cuDNN tried that fits into the workspace. `size` asks cuDNN for an algorithm's workspace.
  template <class Algorithm, class Tried, class Size>
  void choose(Pass<Algorithm>& pass, std::span<const Tried> tried, Size size) const {
    for (const Tried& candidate : tried) {
      if (candidate.status != CUDNN_STATUS_SUCCESS) continue;
      // cuDNN's default arithmetic would round fp32 to TF32.
      const cudnnMathType_t math = wanted_math() == CUDNN_FMA_MATH ? CUDNN_FMA_MATH : candidate.mathType;
      check(cudnnSetConvolutionMathType(pass.descriptor.get(), math), "cudnnSetConvolutionMathType");
      std::size_t bytes = 0;
      if (size(candidate.algo, &bytes) != CUDNN_STATUS_SUCCESS || bytes > workspace().bytes()) continue;
      pass.algorithm = candidate.algo;
      pass.workspace = bytes;
      pass.name = fmt::format("{}, {}, workspace {} bytes", name_of(candidate.algo), name_of(math), bytes);
      return;
    }
    throw InputError(fmt::format("{}: layer {}: cuDNN has no algorithm for this convolution in {} and a workspace of {} bytes",
                                 layer_.network.model.file, layer_.layer.name, layer_.network.dtype, workspace().bytes()));
  }

  /// That cuDNN has no algorithm at all shows in the empty list of those it tried.
  static void require_trials(cudnnStatus_t status, const char* call) {
    if (CUDNN_STATUS_CATEGORY(status) != CUDNN_STATUS_NOT_SUPPORTED) check(status, call);
  }

  void choose_forward() {
    std::array<cudnnConvolutionFwdAlgoPerf_t, CUDNN_CONVOLUTION_FWD_ALGO_COUNT> tried = {};
    int count = 0;
    require_trials(
        cudnnFindConvolutionForwardAlgorithmEx(cudnn(), input_.get(), layer_.inputs[0], filter_.get(), weight().value.data(),
                                               forward_.descriptor.get(), output_.get(), layer_.output, static_cast<int>(tried.size()),
                                               &count, tried.data(), workspace().data(), workspace().bytes()),
        "cudnnFindConvolutionForwardAlgorithmEx");
    choose(forward_, std::span<const cudnnConvolutionFwdAlgoPerf_t>(tried.data(), static_cast<std::size_t>(count)),
           [&](cudnnConvolutionFwdAlgo_t algorithm, std::size_t* bytes) {
             return cudnnGetConvolutionForwardWorkspaceSize(cudnn(), input_.get(), filter_.get(), forward_.descriptor.get(), output_.get(),
                                                            algorithm, bytes);
           });
  }

  void choose_backward_data() {
    std::array<cudnnConvolutionBwdDataAlgoPerf_t, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT> tried = {};
    int count = 0;
    require_trials(cudnnFindConvolutionBackwardDataAlgorithmEx(cudnn(), filter_.get(), weight().value.data(), output_.get(),
                                                               layer_.output_gradient, backward_data_.descriptor.get(), input_.get(),
                                                               layer_.input_gradients[0], static_cast<int>(tried.size()), &count,
                                                               tried.data(), workspace().data(), workspace().bytes()),
                   "cudnnFindConvolutionBackwardDataAlgorithmEx");
    choose(backward_data_, std::span<const cudnnConvolutionBwdDataAlgoPerf_t>(tried.data(), static_cast<std::size_t>(count)),
           [&](cudnnConvolutionBwdDataAlgo_t algorithm, std::size_t* bytes) {
             return cudnnGetConvolutionBackwardDataWorkspaceSize(cudnn(), filter_.get(), output_.get(), backward_data_.descriptor.get(),
                                                                 input_.get(), algorithm, bytes);
           });
  }

  void choose_backward_filter() {
    std::array<cudnnConvolutionBwdFilterAlgoPerf_t, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT> tried = {};
    int count = 0;
    require_trials(cudnnFindConvolutionBackwardFilterAlgorithmEx(cudnn(), input_.get(), layer_.inputs[0], output_.get(),
                                                                 layer_.output_gradient, backward_filter_.descriptor.get(), filter_.get(),
                                                                 weight().gradient.data(), static_cast<int>(tried.size()), &count,
                                                                 tried.data(), workspace().data(), workspace().bytes()),
                   "cudnnFindConvolutionBackwardFilterAlgorithmEx");
    choose(backward_filter_, std::span<const cudnnConvolutionBwdFilterAlgoPerf_t>(tried.data(), static_cast<std::size_t>(count)),
           [&](cudnnConvolutionBwdFilterAlgo_t algorithm, std::size_t* bytes) {
             return cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnn(), input_.get(), output_.get(), backward_filter_.descriptor.get(),
                                                                   filter_.get(), algorithm, bytes);
           });
  }

  static constexpr float one = 1.0F;
  static constexpr float none = 0.0F;

  bool channels_last_ = layer_.channels_last() || layer_.shapes[0].size() < 3;
  TensorDescriptor input_{cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor"};
  TensorDescriptor output_{cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor"};
  TensorDescriptor bias_{cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor"};
  FilterDescriptor filter_{cudnnCreateFilterDescriptor, "cudnnCreateFilterDescriptor"};
  Pass<cudnnConvolutionFwdAlgo_t> forward_;
  Pass<cudnnConvolutionBwdDataAlgo_t> backward_data_;
  Pass<cudnnConvolutionBwdFilterAlgo_t> backward_filter_;
};

}  // namespace

std::unique_ptr<CudaOp> make_cuda_convolution(const CudaLayer& layer) { return std::make_unique<Convolution>(layer); }

}  // namespace syncopate::capture
