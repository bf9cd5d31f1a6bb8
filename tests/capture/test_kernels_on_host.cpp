#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "capture/cpu/device.hpp"
#include "capture/cuda/attention_operation.hpp"
#include "capture/cuda/makers.hpp"
#include "cuda_on_host.hpp"
#include "host_engines.hpp"
#include "host_memory.hpp"
#include "op_cases.hpp"

// The GPU's ops whose kernels are our own, on the host, which runs their threads in turns: indices, bounds, number formats and the order of
// threads are tested without a GPU. No race between threads that run at one time is found, nor what a GPU computes less exactly.

using namespace syncopate;
using namespace syncopate::capture;

namespace {

const std::map<std::string_view, CudaOpMaker> own_ops = {
    {"adaptive_avg_pool", make_cuda_adaptive_pooling},
    {"add", make_cuda_add},
    {"attention", make_cuda_attention},
    {"avg_pool", make_cuda_average_pooling},
    {"concat", make_cuda_concat},
    {"dropout", make_cuda_dropout},
    {"embedding", make_cuda_embedding},
    {"first_token", make_cuda_first_token},
    {"flatten", make_cuda_flatten},
    {"gelu", make_cuda_gelu},
    {"group_norm", make_cuda_group_norm},
    {"layer_norm", make_cuda_layer_norm},
    {"lrn", make_cuda_lrn},
    {"max_over_time", make_cuda_max_over_time},
    {"max_pool", make_cuda_max_pooling},
    {"multiply", make_cuda_multiply},
    {"pad_shortcut", make_cuda_pad_shortcut},
    {"positional", make_cuda_positional},
    {"relu", make_cuda_relu},
    {"rms_norm", make_cuda_rms_norm},
    {"rotary", make_cuda_rotary},
    {"sigmoid", make_cuda_sigmoid},
    {"silu", make_cuda_silu},
    {"tanh", make_cuda_tanh},
    {"tied_linear", make_cuda_tied_linear},
    {"to_tokens", make_cuda_to_tokens},
    {"upsample", make_cuda_upsample},
};

struct Format {
  std::string dtype;
  Layout layout;
  double tolerance;  ///< of the largest magnitude
};

const std::vector<Format> formats = {{"fp32", Layout::channels_first, 1e-5},
                                     {"fp32", Layout::channels_last, 1e-5},
                                     {"fp16", Layout::channels_last, 1e-2},
                                     {"bf16", Layout::channels_last, 5e-2}};

/// Extents that make kernels take several steps: more numbers than a block has threads, planes in several slices, rows longer than a block.
std::vector<OpCase> large_cases() {
  const auto conv = [](int channels) {
    return fmt::format(R"({{"name": "a", "op": "conv2d", "out_channels": {}, "kernel": 1, "inputs": ["$input"]}},)", channels);
  };
  const auto linear = [](int width) {
    return fmt::format(R"({{"name": "a", "op": "linear", "out_features": {}, "inputs": ["$input"]}},)", width);
  };
  const auto factor = [](int channels) {
    return R"({"name": "p", "op": "adaptive_avg_pool", "output": 1, "inputs": ["$input"]},)" +
           fmt::format(R"({{"name": "f", "op": "conv2d", "out_channels": {}, "kernel": 1}},)", channels);
  };
  const auto last = [](const std::string& attributes) { return R"({"name": "under test", "op": )" + attributes + "}"; };
  return {
      {"group_norm", "[2, 96, 96]", conv(4) + last(R"("group_norm", "groups": 2)")},
      {"group_norm", "[2, 93, 95]", conv(4) + last(R"("group_norm", "groups": 4)")},
      {"group_norm", "[2, 7, 9]", conv(200) + last(R"("group_norm", "groups": 4)")},
      {"group_norm", "[2, 6, 8]", conv(150) + last(R"("group_norm", "groups": 2)")},
      {"rms_norm", "[3, 4]", linear(1500) + last(R"("rms_norm")")},
      {"rms_norm", "[3, 4]", linear(701) + last(R"("rms_norm")")},
      {"upsample", "[2, 17, 23]", conv(12) + last(R"("upsample", "scale": 2)")},
      {"upsample", "[2, 17, 23]", conv(9) + last(R"("upsample", "scale": 3)")},
      {"to_tokens", "[2, 9, 13]", conv(70) + last(R"("to_tokens")")},
      {"flatten", "[2, 9, 13]", conv(70) + last(R"("flatten")")},
      {"attention", "[37, 4]", linear(48) + last(R"("attention", "heads": 2, "causal": true)")},
      {"attention", "[37, 4]", linear(24) + last(R"("attention", "heads": 1)")},
      {"positional", "[9, 4]", linear(300) + last(R"("positional")")},
      {"rotary", "[19, 4]", linear(240) + last(R"("rotary", "heads": 3)")},
      {"rotary", "[19, 4]", linear(130) + last(R"("rotary", "heads": 5)")},
      {"multiply", "[2, 96, 96]", conv(4) + factor(4) + last(R"("multiply", "inputs": ["a", "f"])")},
      {"multiply", "[2, 93, 95]", conv(4) + factor(4) + last(R"("multiply", "inputs": ["a", "f"])")},
      {"multiply", "[2, 7, 9]", conv(200) + factor(200) + last(R"("multiply", "inputs": ["f", "a"])")},
      {"multiply", "[2, 6, 8]", conv(150) + factor(150) + last(R"("multiply", "inputs": ["f", "a"])")},
  };
}

/// Numbers that all formats hold exactly. None is 0, and neighbours differ, so that no window has two maxima.
std::vector<float> numbers(std::int64_t count, std::int64_t step) {
  constexpr std::int64_t different = 97;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t k = static_cast<std::int64_t>(i) * step % different;
    values[i] = static_cast<float>(2 * k - different + 1) / 64.0F + 1.0F / 64.0F;
  }
  return values;
}

void check_close(const std::vector<float>& found, const std::vector<float>& expected, double tolerance) {
  REQUIRE(found.size() == expected.size());
  double largest = 0;
  double apart = 0;
  std::size_t worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    const double distance = std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
    if (distance <= apart) continue;
    apart = std::isfinite(distance) ? distance : INFINITY;
    worst = i;
  }
  INFO("element ", worst, ": ", found[worst], " instead of ", expected[worst]);
  CHECK(largest > 0);
  CHECK(apart <= tolerance * largest);
}

/// The last layer of a network, whose kernels run on the host.
class LayerOnHost {
 public:
  LayerOnHost(const Network& network, std::size_t layer) : network_(network), layer_(layer) {
    tools_.number = network.dtype == "fp16" ? Number::fp16 : network.dtype == "bf16" ? Number::bf16 : Number::fp32;
    input_ = tools_.allocate(network.input_elements * static_cast<std::int64_t>(sizeof(float)));
    for (std::size_t i = 0; i <= layer; ++i) outputs_.push_back(array(network.layers[i].elements));
    for (const Buffer& buffer : network.buffers) gradients_.push_back(array(buffer.elements));
    const std::size_t table = network.layers[layer].table;
    if (table != NetworkLayer::no_table) owner_ = own_ops.at("embedding")(context(table, nullptr));
    op_ = own_ops.at(network.model.layers[layer].op->name)(context(layer, owner_ ? owner_->parameters().data() : nullptr));
    op_->prepare();
  }

  std::vector<std::string> kernels() const { return op_->kernels(); }
  void forward() { op_->forward(); }
  void backward() { op_->backward(); }

  void write_output(std::size_t layer, const std::vector<float>& values) { write(place(layer), network_.shape(layer), values); }
  void write_ids(const std::vector<float>& ids) { std::transform(ids.begin(), ids.end(), input_.as<std::int32_t>(), to_id); }
  void write_gradient(const std::vector<float>& values) { write(gradient(output_buffer()), network_.shape(layer_), values); }
  void write_parameter(std::size_t owner, std::size_t i, const std::vector<float>& values) {
    const CudaParameter& parameter = parameters(owner)[i];
    convert(nullptr, values.data(), Number::fp32, parameter.value.data(), parameter.number, parameter.count());
  }

  std::vector<float> output() const { return read(place(layer_), network_.shape(layer_)); }
  std::vector<float> input_gradient(std::size_t slot) const {
    return read(gradient(network_.layers[layer_].input_gradients[slot]), network_.shape(network_.model.layers[layer_].inputs[slot]));
  }
  std::vector<float> parameter_gradient(std::size_t owner, std::size_t i) {
    const CudaParameter& parameter = parameters(owner)[i];
    std::vector<float> values(static_cast<std::size_t>(parameter.count()));
    convert(nullptr, parameter.gradient.data(), parameter.number, values.data(), Number::fp32, parameter.count());
    return values;
  }

 private:
  static std::int32_t to_id(float number) { return static_cast<std::int32_t>(number); }
  DeviceMemory array(std::int64_t count) const { return tools_.allocate(count * number_bytes(tools_.number)); }
  std::size_t output_buffer() const { return network_.layers[layer_].output_gradient; }

  void* gradient(std::size_t buffer) const { return buffer == NetworkLayer::no_buffer ? nullptr : gradients_[buffer].data(); }
  void* place(std::size_t layer) const {
    if (layer == Model::input_layer) return input_.data();
    return network_.layers[layer].aliased ? place(network_.model.layers[layer].inputs[0]) : outputs_[layer].data();
  }
  std::vector<CudaParameter>& parameters(std::size_t owner) { return (owner == layer_ ? op_ : owner_)->parameters(); }

  CudaLayer context(std::size_t layer, const CudaParameter* table) const {
    const ModelLayer& described = network_.model.layers[layer];
    CudaLayer made = {tools_,     network_, described, layer, {}, {}, place(layer), {}, gradient(network_.layers[layer].output_gradient),
                      iteration_, table};
    for (std::size_t slot = 0; slot < described.inputs.size(); ++slot) {
      made.shapes.push_back(network_.shape(described.inputs[slot]));
      made.inputs.push_back(place(described.inputs[slot]));
      made.input_gradients.push_back(gradient(network_.layers[layer].input_gradients[slot]));
    }
    return made;
  }

  /// Visits (place in memory, place in model/1's order).
  template <class Visit>
  void for_each_number(const Shape& shape, Visit visit) const {
    const bool swapped = shape.size() == 3 && network_.layout == Layout::channels_last;
    const std::int64_t channels = swapped ? shape[0] : 1;
    const std::int64_t pixels = elements(shape) / channels;
    for (std::int64_t i = 0; i < network_.batch * channels * pixels; ++i) {
      const std::int64_t sample = i / (channels * pixels);
      const std::int64_t channel = i / pixels % channels;
      visit(static_cast<std::size_t>((sample * pixels + i % pixels) * channels + channel), static_cast<std::size_t>(i));
    }
  }

  void write(void* to, const Shape& shape, const std::vector<float>& values) const {
    std::vector<float> arranged(values.size());
    for_each_number(shape, [&](std::size_t inside, std::size_t outside) { arranged[inside] = values[outside]; });
    convert(nullptr, arranged.data(), Number::fp32, to, tools_.number, static_cast<std::int64_t>(values.size()));
  }

  std::vector<float> read(const void* from, const Shape& shape) const {
    std::vector<float> arranged(static_cast<std::size_t>(network_.batch * elements(shape)));
    convert(nullptr, from, tools_.number, arranged.data(), Number::fp32, static_cast<std::int64_t>(arranged.size()));
    std::vector<float> values(arranged.size());
    for_each_number(shape, [&](std::size_t inside, std::size_t outside) { values[outside] = arranged[inside]; });
    return values;
  }

  const Network& network_;
  std::size_t layer_;
  CudaTools tools_;
  std::uint32_t iteration_ = 1;
  DeviceMemory input_;
  std::vector<DeviceMemory> outputs_;
  std::vector<DeviceMemory> gradients_;  // by buffer
  std::unique_ptr<CudaOp> owner_;        // of a shared weight
  std::unique_ptr<CudaOp> op_;
};

Network plan(const OpCase& tested, std::int64_t batch, const std::string& dtype, Layout layout) {
  const std::string text =
      fmt::format(R"({{"format": "model/1", "name": "net", "input": {}, "layers": [{}]}})", tested.input, tested.layers);
  return plan_network(read_model(Document(parse_json(text, "net.json"), "net.json")), batch, dtype, layout);
}

void compare(const OpCase& tested, std::int64_t batch, const Format& format) {
  const Network cpu_network = plan(tested, batch, "fp32", Layout::channels_last);
  const Network network = plan(tested, batch, format.dtype, format.layout);
  const std::size_t index = network.layers.size() - 1;
  const ModelLayer& described = network.model.layers[index];
  CpuDevice cpu(1);
  cpu.set_up(cpu_network);
  cpu.begin(Run::free);
  LayerOnHost host(network, index);
  std::vector<std::pair<std::size_t, std::size_t>> weights;
  for (std::size_t i = 0; i < described.tensors.size(); ++i) weights.emplace_back(index, i);
  if (network.layers[index].table != NetworkLayer::no_table) weights.emplace_back(network.layers[index].table, 0);

  std::int64_t step = 37;
  for (const std::size_t source : described.inputs) {
    if (source == Model::input_layer) {
      host.write_ids(cpu.read({Array::Kind::input}));
      continue;
    }
    const std::vector<float> values = numbers(network.layers[source].elements, step);
    step += 2;
    cpu.write({Array::Kind::output, source}, values);
    host.write_output(source, values);
  }
  for (const auto& [owner, i] : weights) {
    const std::vector<float> values = numbers(elements(network.model.layers[owner].tensors[i].shape), 29);
    cpu.write({Array::Kind::parameter, owner, i}, values);
    host.write_parameter(owner, i, values);
  }
  const std::vector<float> gradient = numbers(network.layers[index].elements, 41);
  cpu.forward(index);
  cpu.write({Array::Kind::output_gradient, index}, gradient);
  cpu.backward(index);
  host.forward();
  {
    INFO("output");
    check_close(host.output(), cpu.read({Array::Kind::output, index}), format.tolerance);
  }
  host.write_gradient(gradient);
  host.backward();
  for (std::size_t slot = 0; slot < described.inputs.size(); ++slot) {
    INFO("gradient of input ", slot);
    if (described.inputs[slot] != Model::input_layer)
      check_close(host.input_gradient(slot), cpu.read({Array::Kind::input_gradient, index, slot}), format.tolerance);
  }
  for (const auto& [owner, i] : weights) {
    INFO("gradient of ", network.model.layers[owner].tensors[i].name);
    check_close(host.parameter_gradient(owner, i), cpu.read({Array::Kind::parameter_gradient, owner, i}), format.tolerance);
  }
}

}  // namespace

TEST_SUITE("Do the GPU's own kernels, run on the host, compute what the CPU does?") {
  TEST_CASE("every op, forward and backward, in every format and layout") {
    std::vector<OpCase> cases = op_cases();
    for (const OpCase& large : large_cases()) cases.push_back(large);
    std::set<std::string_view> tested;
    for (const OpCase& each : cases) {
      if (!own_ops.contains(each.op)) continue;
      tested.insert(own_ops.find(each.op)->first);
      for (const Format& format : formats) {
        for (const bool backwards : {false, true}) {
          CAPTURE(each.op);
          CAPTURE(each.input);
          CAPTURE(each.layers);
          CAPTURE(format.dtype);
          CAPTURE((format.layout == Layout::channels_last));
          CAPTURE(backwards);
          host_cuda::backwards = backwards;
          host_cuda::has_engines = false;
          compare(each, 3, format);
        }
      }
    }
    CHECK(tested.size() == own_ops.size());
  }

  TEST_CASE("attention as one operation of cuDNN, as its graphs describe it") {
    std::vector<OpCase> cases = op_cases();
    for (const auto& more : {large_cases(), wide_attention()}) cases.insert(cases.end(), more.begin(), more.end());
    host_cuda::has_engines = true;
    for (const OpCase& each : cases) {
      if (each.op != "attention") continue;
      for (const Format& format : formats) {
        if (format.dtype == "fp32") continue;  // products of matrices
        CAPTURE(each.input);
        CAPTURE(each.layers);
        CAPTURE(format.dtype);
        host_cuda::graphs_run = 0;
        compare(each, 2, format);
        CHECK(host_cuda::graphs_run == 2);  // forward and backward
      }
    }
  }

  TEST_CASE("attention in 16 bits that is no operation of cuDNN says why") {
    const auto linear = [](const std::string& name) {
      return fmt::format(R"({{"name": "{}", "op": "linear", "out_features": 16, "inputs": ["$input"]}},)", name);
    };
    const auto kernels = [](const std::string& input, const std::string& layers, bool fused = true) {
      Network network = plan({"attention", input, layers}, 2, "bf16", Layout::channels_last);
      network.fused_attention = fused;
      const std::vector<std::string> found = LayerOnHost(network, network.layers.size() - 1).kernels();
      CHECK(found.at(0) == found.at(1));
      return found.at(0);
    };
    const std::string attention = linear("a") + R"({"name": "b", "op": "attention", "heads": 2, "inputs": ["a", "a", "a"]})";
    const std::string of_input = linear("a") + R"({"name": "b", "op": "attention", "heads": 2, "inputs": ["a", "a", "$input"]})";
    const std::string prefix = "host, not one fused operation: ";
    host_cuda::has_engines = true;
    CHECK(kernels("[4, 16]", attention) == "");
    CHECK(kernels("[4, 16]", attention, false) == prefix + "--attention products");
    CHECK(kernels("[1, 16]", attention) == prefix + "one token is too few");
    CHECK(kernels("[4, 16]", of_input) == prefix + "an input needs no gradient");
    host_cuda::version = 91500;
    CHECK(kernels("[4, 16]", attention) == prefix + "cuDNN 9.15.1 or later is needed, found 9.15.0");
    host_cuda::version = fused_attention_since;
    host_cuda::finalized = CUDNN_STATUS_BAD_PARAM;
    CHECK(kernels("[4, 16]", attention).find(prefix + "cudnnBackendFinalize at backend.cpp:") == 0);
    host_cuda::finalized = CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
    CHECK_THROWS_AS(kernels("[4, 16]", attention), OutOfDeviceMemory);
    host_cuda::finalized = CUDNN_STATUS_SUCCESS;
    host_cuda::has_engines = false;
    CHECK(kernels("[4, 16]", attention) == prefix + "forward: the host has no engines");
  }
}
