#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/errors.hpp"
#include "capture/cuda/gpu.hpp"
#include "capture/cuda/makers.hpp"
#include "capture/cuda/weighted.hpp"

namespace syncopate::capture {

namespace {

/// conv2d. Also conv1d: the sequence is an image of height 1 whose channels are the token's width.
class Convolution : public Weighted {
 public:
  explicit Convolution(const CudaLayer& layer) : Weighted(layer) {
    add_weight_and_bias(channels_last_);
    const Shape input = as_image(layer.shapes[0]);
    const Shape output = as_image(layer.layer.output);
    const Attributes& a = layer.attributes();
    extents_ = {cudnn_type(layer.tools.number),
                channels_last_,
                {layer.batch(), input[0], input[1], input[2]},
                {output[0], input[0] / a.groups, a.kernel[0], a.kernel[1]},
                {layer.batch(), output[0], output[1], output[2]},
                {a.pad[0], a.pad[1]},
                {a.stride[0], a.stride[1]}};
    describe(output_, layer.batch(), output);
    describe(bias_, 1, {output[0], 1, 1});
  }

  std::size_t prepare() override {
    std::size_t workspace = 0;
    for (Pass& pass : passes_) {
      if (pass.kind == ConvolutionPass::backward_data && layer_.input_gradients[0] == nullptr) continue;
      pass.choice = choose(pass.kind);
      workspace = std::max(workspace, pass.choice.workspace);
    }
    return workspace;
  }

  void forward() override {
    run(forward_);
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
    if (layer_.input_gradients[0] != nullptr) run(backward_data_);
    run(backward_filter_);
    if (!has_bias()) return;
    if (channels_last_) return sum_bias_gradient();
    check(cudnnConvolutionBackwardBias(cudnn(), &one, output_.get(), layer_.output_gradient, &none, bias_.get(), bias().gradient.data()),
          "cudnnConvolutionBackwardBias");
  }

  std::vector<std::string> kernels() const override {
    return {forward_.choice.name, backward_data_.choice.name, backward_filter_.choice.name};
  }

 private:
  struct Pass {
    ConvolutionPass kind;
    ConvolutionChoice choice;
    std::optional<BackendDescriptor> arguments;  // for the workspace that the pass runs with
  };

  static Shape as_image(const Shape& shape) { return shape.size() == 3 ? shape : Shape{shape[1], 1, shape[0]}; }
  cudnnHandle_t cudnn() const { return layer_.tools.cudnn.get(); }
  const DeviceMemory& workspace() const { return layer_.tools.workspace; }

  void describe(const TensorDescriptor& descriptor, std::int64_t samples, const Shape& shape) const {
    check(
        cudnnSetTensor4dDescriptor(descriptor.get(), channels_last_ ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
                                   cudnn_type(layer_.tools.number), to_int(samples), to_int(shape[0]), to_int(shape[1]), to_int(shape[2])),
        "cudnnSetTensor4dDescriptor");
  }

  ConvolutionPointers pointers(ConvolutionPass pass) const {
    switch (pass) {
      case ConvolutionPass::forward: return {layer_.inputs[0], weight().value.data(), layer_.output};
      case ConvolutionPass::backward_data: return {layer_.input_gradients[0], weight().value.data(), layer_.output_gradient};
      case ConvolutionPass::backward_filter: break;
    }
    return {layer_.inputs[0], weight().gradient.data(), layer_.output_gradient};
  }

  void run(Pass& pass) {
    if (!pass.arguments) pass.arguments = plan_arguments(pointers(pass.kind), workspace().data());
    check(pass.choice.plan->run(cudnn(), *pass.arguments), "cudnnBackendExecute");
  }

  /// The fastest engine, or the choice of an equal convolution.
  const ConvolutionChoice& choose(ConvolutionPass pass) const {
    const Attributes& a = layer_.attributes();
    const std::string key = fmt::format("{}: {} to {}, kernel {}, pad {}, stride {}, groups {}", static_cast<int>(pass),
                                        fmt::join(layer_.shapes[0], "x"), fmt::join(layer_.layer.output, "x"), fmt::join(a.kernel, "x"),
                                        fmt::join(a.pad, "x"), fmt::join(a.stride, "x"), a.groups);
    ConvolutionChoices& known = *layer_.tools.choices;
    const auto place = known.find(key);
    return place != known.end() ? place->second : known.emplace(key, fastest(pass)).first->second;
  }

  ConvolutionChoice fastest(ConvolutionPass pass) const {
    const auto engines = std::make_shared<const ConvolutionEngines>(cudnn(), pass, extents_);
    const EngineRules rules = {layer_.tools.number != Number::fp32 || layer_.tools.tf32, workspace().bytes()};
    const BackendDescriptor arguments = plan_arguments(pointers(pass), workspace().data());
    std::vector<std::shared_ptr<const ConvolutionPlan>> plans(engines->offers().size());
    const auto build = [&](std::size_t offer) -> std::optional<std::size_t> {
      plans[offer] = engines->build(offer);
      return plans[offer] ? std::optional(plans[offer]->workspace()) : std::nullopt;
    };
    const auto time = [&](std::size_t offer, Seconds limit) {
      return time_of([&] { return plans[offer]->run(cudnn(), arguments) == CUDNN_STATUS_SUCCESS; }, limit);
    };
    const std::optional<ChosenEngine> best = fastest_engine(engines->offers(), rules, build, time);
    if (!best) {
      throw InputError(fmt::format("{}: layer {}: cuDNN has no engine for this convolution in {} and a workspace of {} bytes",
                                   layer_.network.model.file, layer_.layer.name, layer_.network.dtype, workspace().bytes()));
    }
    return {engines, plans[best->offer], best->workspace,
            fmt::format("{}, workspace {} bytes", engines->offers()[best->offer].name, best->workspace)};
  }

  /// The shortest of a few GPU times of the work that `run` queues, of the first only if that exceeds `limit` far. Nothing if `run` fails.
  template <class Run>
  std::optional<Seconds> time_of(Run run, Seconds limit) const {
    constexpr int runs = 5;
    if (!run()) {          // the first run also loads the kernels
      cudaGetLastError();  // else the next launch would report its error
      return std::nullopt;
    }
    const Seconds first = shortest_of(1, run);
    return first > 2.0 * limit ? first : std::min(first, shortest_of(runs - 1, run));
  }

  template <class Run>
  Seconds shortest_of(std::size_t runs, Run run) const {
    constexpr std::uint64_t until_queued = 300'000;  // ns; launching takes longer than a short kernel runs
    std::vector<EventHandle> marks;
    while (marks.size() <= runs) marks.emplace_back(cudaEventCreate, "cudaEventCreate");
    delay(queue().stream, until_queued);
    record(marks.front(), queue().stream);
    for (std::size_t i = 1; i <= runs; ++i) {
      run();
      record(marks[i], queue().stream);
    }
    check(cudaEventSynchronize(marks.back().get()), "cudaEventSynchronize");
    Seconds shortest(std::numeric_limits<double>::infinity());
    for (std::size_t i = 1; i <= runs; ++i) shortest = std::min(shortest, elapsed(marks[i - 1], marks[i]));
    return shortest;
  }

  static constexpr float one = 1.0F;
  static constexpr float none = 0.0F;

  bool channels_last_ = layer_.channels_last() || layer_.shapes[0].size() < 3;
  ConvolutionExtents extents_{};
  TensorDescriptor output_{cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor"};
  TensorDescriptor bias_{cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor"};
  std::array<Pass, 3> passes_{
      {{ConvolutionPass::forward, {}, {}}, {ConvolutionPass::backward_filter, {}, {}}, {ConvolutionPass::backward_data, {}, {}}}};
  Pass& forward_ = passes_[0];
  Pass& backward_filter_ = passes_[1];
  Pass& backward_data_ = passes_[2];
};

}  // namespace

std::unique_ptr<CudaOp> make_cuda_convolution(const CudaLayer& layer) { return std::make_unique<Convolution>(layer); }

}  // namespace syncopate::capture
