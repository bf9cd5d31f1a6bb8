#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "base/errors.hpp"
#include "capture/cuda/convolution_operation.hpp"
#include "capture/cuda/makers.hpp"
#include "capture/cuda/weighted.hpp"

namespace syncopate::capture {

namespace {

/// conv2d. Also conv1d: the sequence is an image of height 1 whose channels are the token's width. And conv_transpose2d: its forward is
/// backward of the data of a convolution from its output to its input, its backward of the data is that convolution's forward.
class Convolution : public Weighted {
 public:
  Convolution(const CudaLayer& layer, bool transposed) : Weighted(layer), transposed_(transposed) {
    add_weight_and_bias(channels_last_);
    const Shape input = as_image(layer.shapes[0]);
    const Shape output = as_image(layer.layer.output);
    const Shape& from = transposed ? output : input;
    const Shape& to = transposed ? input : output;
    const Attributes& a = layer.attributes();
    extents_ = {cudnn_type(layer.tools.number),
                channels_last_,
                {layer.batch(), from[0], from[1], from[2]},
                {to[0], from[0] / a.groups, a.kernel[0], a.kernel[1]},
                {layer.batch(), to[0], to[1], to[2]},
                {a.pad[0], a.pad[1]},
                {a.stride[0], a.stride[1]}};
    describe(output_, layer.batch(), output);
    describe(bias_, 1, {output[0], 1, 1});
    forward_ = pass(layer.inputs[0], weight().value, layer.output);
    backward_data_ = pass(layer.input_gradients[0], weight().value, layer.output_gradient);
    backward_filter_ = pass(layer.inputs[0], weight().gradient, layer.output_gradient);
  }

  std::size_t prepare() override {
    choose(transposed_ ? ConvolutionPass::backward_data : ConvolutionPass::forward, *forward_);
    choose(ConvolutionPass::backward_filter, *backward_filter_);
    if (layer_.input_gradients[0] != nullptr)
      choose(transposed_ ? ConvolutionPass::forward : ConvolutionPass::backward_data, *backward_data_);
    return std::max({forward_->workspace(), backward_data_->workspace(), backward_filter_->workspace()});
  }

  void forward() override {
    forward_->run();
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
    if (layer_.input_gradients[0] != nullptr) backward_data_->run();
    backward_filter_->run();
    if (!has_bias()) return;
    if (channels_last_) return sum_bias_gradient();
    constexpr float one = 1.0F;
    constexpr float none = 0.0F;
    check(cudnnConvolutionBackwardBias(layer_.tools.cudnn.get(), &one, output_.get(), layer_.output_gradient, &none, bias_.get(),
                                       bias().gradient.data()),
          "cudnnConvolutionBackwardBias");
  }

  std::vector<std::string> kernels() const override { return {forward_->name(), backward_data_->name(), backward_filter_->name()}; }

 private:
  static Shape as_image(const Shape& shape) { return shape.size() == 3 ? shape : Shape{shape[1], 1, shape[0]}; }

  void describe(const TensorDescriptor& descriptor, std::int64_t samples, const Shape& shape) const {
    check(
        cudnnSetTensor4dDescriptor(descriptor.get(), channels_last_ ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
                                   cudnn_type(layer_.tools.number), to_int(samples), to_int(shape[0]), to_int(shape[1]), to_int(shape[2])),
        "cudnnSetTensor4dDescriptor");
  }

  /// Of the layer's input and output, or their gradients.
  EnginePass pass(void* input, const DeviceMemory& filter, void* output) const {
    if (transposed_) std::swap(input, output);
    const auto arguments = convolution_arguments(input, filter.data(), output);
    return {layer_.tools, {arguments.begin(), arguments.end()}};
  }

  void choose(ConvolutionPass kind, EnginePass& pass) const {
    const Attributes& a = layer_.attributes();
    const Shape& from = transposed_ ? layer_.layer.output : layer_.shapes[0];
    const Shape& to = transposed_ ? layer_.shapes[0] : layer_.layer.output;
    const std::string key =
        fmt::format("convolution {}: {} to {}, kernel {}, pad {}, stride {}, groups {}", static_cast<int>(kind), fmt::join(from, "x"),
                    fmt::join(to, "x"), fmt::join(a.kernel, "x"), fmt::join(a.pad, "x"), fmt::join(a.stride, "x"), a.groups);
    if (pass.choose(key, convolution_graph(kind, extents_))) return;
    if (pass.failed()) throw std::runtime_error(pass.reason());
    throw InputError(fmt::format("{}: layer {}: cuDNN has no engine for this convolution in {} and a workspace of {} bytes: {}",
                                 layer_.network.model.file, layer_.layer.name, layer_.network.dtype, layer_.tools.workspace.bytes(),
                                 pass.reason()));
  }

  bool transposed_;
  bool channels_last_ = layer_.channels_last() || layer_.shapes[0].size() < 3;
  ConvolutionExtents extents_{};
  TensorDescriptor output_{cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor"};
  TensorDescriptor bias_{cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor"};
  std::optional<EnginePass> forward_;
  std::optional<EnginePass> backward_data_;
  std::optional<EnginePass> backward_filter_;
};

}  // namespace

std::unique_ptr<CudaOp> make_cuda_convolution(const CudaLayer& layer) { return std::make_unique<Convolution>(layer, false); }
std::unique_ptr<CudaOp> make_cuda_transposed_convolution(const CudaLayer& layer) { return std::make_unique<Convolution>(layer, true); }

}  // namespace syncopate::capture
