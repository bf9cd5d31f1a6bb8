#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/errors.hpp"
#include "capture/cuda/gpu.hpp"
#include "capture/cuda/makers.hpp"
#include "capture/cuda/weighted.hpp"

namespace syncopate::capture {

namespace {

/// The forward pass, or one of the two backward passes.
template <class Algorithm>
struct Pass {
  ConvolutionDescriptor descriptor{cudnnCreateConvolutionDescriptor,
                                   "cudnnCreateConvolutionDescriptor"};  // also holds the arithmetic (math type)
  ConvolutionChoice<Algorithm> choice;
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

/// conv2d. Also conv1d: the sequence is an image of height 1 whose channels are the token's width.
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
    return std::max({forward_.choice.workspace, backward_data_.choice.workspace, backward_filter_.choice.workspace});
  }

  void forward() override {
    check(run_forward(forward_.choice.algorithm), "cudnnConvolutionForward");
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
    if (layer_.input_gradients[0] != nullptr) check(run_backward_data(backward_data_.choice.algorithm), "cudnnConvolutionBackwardData");
    check(run_backward_filter(backward_filter_.choice.algorithm), "cudnnConvolutionBackwardFilter");
    if (!has_bias()) return;
    if (channels_last_) return sum_bias_gradient();
    check(cudnnConvolutionBackwardBias(cudnn(), &one, output_.get(), layer_.output_gradient, &none, bias_.get(), bias().gradient.data()),
          "cudnnConvolutionBackwardBias");
  }

  std::vector<std::string> kernels() const override {
    return {forward_.choice.name, backward_data_.choice.name, backward_filter_.choice.name};
  }

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
    set_math(descriptor, wanted_math());
  }

  cudnnMathType_t wanted_math() const {
    if (layer_.tools.number != Number::fp32) return CUDNN_TENSOR_OP_MATH;
    return layer_.tools.tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
  }

  cudnnStatus_t run_forward(cudnnConvolutionFwdAlgo_t algorithm) const {
    return cudnnConvolutionForward(cudnn(), &one, input_.get(), layer_.inputs[0], filter_.get(), weight().value.data(),
                                   forward_.descriptor.get(), algorithm, workspace().data(), workspace().bytes(), &none, output_.get(),
                                   layer_.output);
  }

  cudnnStatus_t run_backward_data(cudnnConvolutionBwdDataAlgo_t algorithm) const {
    return cudnnConvolutionBackwardData(cudnn(), &one, filter_.get(), weight().value.data(), output_.get(), layer_.output_gradient,
                                        backward_data_.descriptor.get(), algorithm, workspace().data(), workspace().bytes(), &none,
                                        input_.get(), layer_.input_gradients[0]);
  }

  cudnnStatus_t run_backward_filter(cudnnConvolutionBwdFilterAlgo_t algorithm) const {
    return cudnnConvolutionBackwardFilter(cudnn(), &one, input_.get(), layer_.inputs[0], output_.get(), layer_.output_gradient,
                                          backward_filter_.descriptor.get(), algorithm, workspace().data(), workspace().bytes(), &none,
                                          filter_.get(), weight().gradient.data());
  }

  /// The key under which equal convolutions of a network share their choice.
  std::string key() const {
    const Attributes& a = layer_.attributes();
    return fmt::format("{} to {}, kernel {}, pad {}, stride {}, groups {}", fmt::join(layer_.shapes[0], "x"),
                       fmt::join(layer_.layer.output, "x"), fmt::join(a.kernel, "x"), fmt::join(a.pad, "x"), fmt::join(a.stride, "x"),
                       a.groups);
  }

  static void set_math(const ConvolutionDescriptor& descriptor, cudnnMathType_t math) {
    check(cudnnSetConvolutionMathType(descriptor.get(), math), "cudnnSetConvolutionMathType");
  }

  /// Chooses the fastest algorithm, or takes the choice of an equal convolution. cuDNN's own search is used only to learn which algorithms
  /// run: a later run may use other kernels and other arithmetic than the ones that it timed. `find(size, count, array)` lists algorithms,
  /// `size` returns the workspace of an algorithm, `run` runs it.
  template <class Tried, class Algorithm, class Find, class Size, class Run>
  void choose(std::map<std::string, ConvolutionChoice<Algorithm>>& known, Pass<Algorithm>& pass, const char* call, Find find, Size size,
              Run run) const {
    auto place = known.find(key());
    if (place == known.end()) place = known.emplace(key(), fastest<Tried>(pass, call, find, size, run)).first;
    pass.choice = place->second;
    set_math(pass.descriptor, pass.choice.math);
  }

  /// The fastest algorithm. The math type of `pass`'s descriptor is unspecified afterwards.
  template <class Tried, class Algorithm, class Find, class Size, class Run>
  ConvolutionChoice<Algorithm> fastest(Pass<Algorithm>& pass, const char* call, Find find, Size size, Run run) const {
    std::array<Tried, most_tried> tried = {};
    int count = 0;
    is_supported(find(static_cast<int>(tried.size()), &count, tried.data()), call);
    ConvolutionChoice<Algorithm> best;
    Seconds shortest = never;
    std::set<std::pair<Algorithm, cudnnMathType_t>> done;
    for (const Tried* candidate = tried.data(); candidate != tried.data() + count; ++candidate) {
      if (candidate->status != CUDNN_STATUS_SUCCESS) continue;
      for (const cudnnMathType_t math : arithmetics(candidate->mathType)) {
        if (!done.emplace(candidate->algo, math).second) continue;
        set_math(pass.descriptor, math);
        std::size_t bytes = 0;
        if (size(candidate->algo, &bytes) != CUDNN_STATUS_SUCCESS || bytes > workspace().bytes()) continue;
        const Seconds time = time_of([&] { return is_supported(run(candidate->algo), call); });
        if (!(time < shortest)) continue;
        shortest = time;
        best = {candidate->algo, math, bytes, fmt::format("{}, {}, workspace {} bytes", name_of(candidate->algo), name_of(math), bytes)};
      }
    }
    if (!best.name.empty()) return best;
    throw InputError(fmt::format("{}: layer {}: cuDNN has no algorithm for this convolution in {} and a workspace of {} bytes",
                                 layer_.network.model.file, layer_.layer.name, layer_.network.dtype, workspace().bytes()));
  }

  /// False if cuDNN does not support the call. Throws for any other error.
  static bool is_supported(cudnnStatus_t status, const char* call) {
    if (CUDNN_STATUS_CATEGORY(status) != CUDNN_STATUS_NOT_SUPPORTED) {
      check(status, call);
      return true;
    }
    cudaGetLastError();  // else the next launch would report this error
    return false;
  }

  /// The math types to try: ours and cuDNN's. For fp32 only FMA, because cuDNN's default would round to TF32.
  std::vector<cudnnMathType_t> arithmetics(cudnnMathType_t reported) const {
    if (wanted_math() == CUDNN_FMA_MATH) return {CUDNN_FMA_MATH};
    return {wanted_math(), reported};
  }

  /// The shortest of a few GPU times of the work that `run` queues; `never` if `run` returns false.
  template <class Run>
  Seconds time_of(Run run) const {
    constexpr std::size_t runs = 5;
    constexpr std::uint64_t until_queued = 500'000;  // ns; launching takes longer than a short kernel runs
    if (!run()) return never;                        // loads the kernels
    std::vector<EventHandle> marks;
    while (marks.size() <= runs) marks.emplace_back(cudaEventCreate, "cudaEventCreate");
    delay(queue().stream, until_queued);
    record(marks.front(), queue().stream);
    for (std::size_t i = 1; i <= runs; ++i) {
      run();
      record(marks[i], queue().stream);
    }
    check(cudaEventSynchronize(marks.back().get()), "cudaEventSynchronize");
    Seconds shortest = never;
    for (std::size_t i = 1; i <= runs; ++i) shortest = std::min(shortest, elapsed(marks[i - 1], marks[i]));
    return shortest;
  }

  void choose_forward() {
    choose<cudnnConvolutionFwdAlgoPerf_t>(
        layer_.tools.choices->forward, forward_, "cudnnFindConvolutionForwardAlgorithmEx",
        [&](int most, int* count, cudnnConvolutionFwdAlgoPerf_t* found) {
          return cudnnFindConvolutionForwardAlgorithmEx(cudnn(), input_.get(), layer_.inputs[0], filter_.get(), weight().value.data(),
                                                        forward_.descriptor.get(), output_.get(), layer_.output, most, count, found,
                                                        workspace().data(), workspace().bytes());
        },
        [&](cudnnConvolutionFwdAlgo_t algorithm, std::size_t* bytes) {
          return cudnnGetConvolutionForwardWorkspaceSize(cudnn(), input_.get(), filter_.get(), forward_.descriptor.get(), output_.get(),
                                                         algorithm, bytes);
        },
        [&](cudnnConvolutionFwdAlgo_t algorithm) { return run_forward(algorithm); });
  }

  void choose_backward_data() {
    choose<cudnnConvolutionBwdDataAlgoPerf_t>(
        layer_.tools.choices->backward_data, backward_data_, "cudnnFindConvolutionBackwardDataAlgorithmEx",
        [&](int most, int* count, cudnnConvolutionBwdDataAlgoPerf_t* found) {
          return cudnnFindConvolutionBackwardDataAlgorithmEx(
              cudnn(), filter_.get(), weight().value.data(), output_.get(), layer_.output_gradient, backward_data_.descriptor.get(),
              input_.get(), layer_.input_gradients[0], most, count, found, workspace().data(), workspace().bytes());
        },
        [&](cudnnConvolutionBwdDataAlgo_t algorithm, std::size_t* bytes) {
          return cudnnGetConvolutionBackwardDataWorkspaceSize(cudnn(), filter_.get(), output_.get(), backward_data_.descriptor.get(),
                                                              input_.get(), algorithm, bytes);
        },
        [&](cudnnConvolutionBwdDataAlgo_t algorithm) { return run_backward_data(algorithm); });
  }

  void choose_backward_filter() {
    choose<cudnnConvolutionBwdFilterAlgoPerf_t>(
        layer_.tools.choices->backward_filter, backward_filter_, "cudnnFindConvolutionBackwardFilterAlgorithmEx",
        [&](int most, int* count, cudnnConvolutionBwdFilterAlgoPerf_t* found) {
          return cudnnFindConvolutionBackwardFilterAlgorithmEx(
              cudnn(), input_.get(), layer_.inputs[0], output_.get(), layer_.output_gradient, backward_filter_.descriptor.get(),
              filter_.get(), weight().gradient.data(), most, count, found, workspace().data(), workspace().bytes());
        },
        [&](cudnnConvolutionBwdFilterAlgo_t algorithm, std::size_t* bytes) {
          return cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnn(), input_.get(), output_.get(), backward_filter_.descriptor.get(),
                                                                filter_.get(), algorithm, bytes);
        },
        [&](cudnnConvolutionBwdFilterAlgo_t algorithm) { return run_backward_filter(algorithm); });
  }

  static constexpr Seconds never{std::numeric_limits<double>::infinity()};
  static constexpr std::size_t most_tried = 16;  // at most eight algorithms in two math types
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
