#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "capture/cpu/device.hpp"
#include "capture/cuda/attention_operation.hpp"
#include "capture/cuda/device.hpp"
#include "capture/devices.hpp"
#include "capture/recording.hpp"
#include "op_cases.hpp"

using namespace syncopate;
using namespace syncopate::capture;

namespace {

struct Format {
  std::string dtype;
  double tolerance;  ///< of the largest magnitude
};

const std::vector<Format> formats = {{"fp32", 1e-4}, {"tf32", 5e-3}, {"fp16", 1e-2}, {"bf16", 5e-2}};

Layout gpu_layout(const std::string& dtype) { return find_device("cuda").layout(dtype); }

Model model_of(const std::string& input, const std::string& layers) {
  const std::string text = fmt::format(R"({{"format": "model/1", "name": "net", "input": {}, "layers": [{}]}})", input, layers);
  return read_model(Document(parse_json(text, "net.json"), "net.json"));
}

Network resnet20(const Format& format) {
  return plan_network(read_model(Document::read(MODELS "/resnet20.json")), 128, format.dtype, gpu_layout(format.dtype));
}

/// Forward and backward of all layers and of the loss.
void pass_through(Device& device, std::size_t layers) {
  for (std::size_t i = 0; i <= layers; ++i) device.forward(i);
  for (std::size_t i = layers + 1; i-- > 0;) device.backward(i);
}

/// A model on both devices: fp32 on the CPU, `dtype` on the GPU.
class Both {
 public:
  Both(const Model& model, std::int64_t batch, const std::string& dtype, Optimizer optimizer = Optimizer::sgd)
      : cpu_network_(plan_network(model, batch, "fp32", Layout::channels_last, optimizer)),
        gpu_network_(plan_network(model, batch, dtype, gpu_layout(dtype), optimizer)) {
    cpu.set_up(cpu_network_);
    gpu.set_up(gpu_network_);
  }

  const Network& network() const { return cpu_network_; }
  std::size_t layers() const { return cpu_network_.layers.size(); }

  template <class Action>
  void each(Action action) {
    action(static_cast<Device&>(cpu));
    action(static_cast<Device&>(gpu));
  }

  void write(const Array& array, const std::vector<float>& values) {
    each([&](Device& device) { device.write(array, values); });
  }

  void train() {
    each([this](Device& device) {
      device.begin(Run::queued);
      pass_through(device, layers());
    });
  }

  CpuDevice cpu{1};
  CudaDevice gpu;

 private:
  Network cpu_network_;
  Network gpu_network_;
};

void check_close(const std::vector<float>& gpu, const std::vector<float>& cpu, double tolerance) {
  REQUIRE(gpu.size() == cpu.size());
  double largest = 0;
  double apart = 0;
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(cpu[i])));
    const double distance = std::abs(static_cast<double>(gpu[i]) - static_cast<double>(cpu[i]));
    apart = std::isfinite(distance) ? std::max(apart, distance) : INFINITY;
  }
  CHECK(largest > 0);
  CHECK(apart <= tolerance * largest);
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

/// Layer and number of each tensor with which a layer computes, one of which may be an embedding's.
std::vector<std::pair<std::size_t, std::size_t>> weights_of(const Network& network, std::size_t layer) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  for (std::size_t i = 0; i < network.model.layers[layer].tensors.size(); ++i) found.emplace_back(layer, i);
  if (network.layers[layer].table != NetworkLayer::no_table) found.emplace_back(network.layers[layer].table, 0);
  return found;
}

/// Returns what the GPU's libraries chose for the layer.
Json compare_op(const OpCase& tested, const Format& format) {
  constexpr std::int64_t batch = 2;
  Both both(model_of(tested.input, tested.layers), batch, format.dtype);
  const std::size_t layer = both.layers() - 1;
  const ModelLayer& described = both.network().model.layers[layer];
  std::int64_t step = 37;
  for (const std::size_t source : described.inputs) {
    if (source != Model::input_layer) both.write({Array::Kind::output, source}, numbers(both.network().layers[source].elements, step));
    step += 2;
  }
  for (const auto& [owner, i] : weights_of(both.network(), layer))
    both.write({Array::Kind::parameter, owner, i}, numbers(elements(both.network().model.layers[owner].tensors[i].shape), 29));
  const std::vector<float> gradient = numbers(both.network().layers[layer].elements, 41);
  both.each([&](Device& device) {
    device.begin(Run::free);
    device.forward(layer);
    device.write({Array::Kind::output_gradient, layer}, gradient);
    device.backward(layer);
  });

  const auto compare = [&](const Array& array) { check_close(both.gpu.read(array), both.cpu.read(array), format.tolerance); };
  {
    INFO("output");
    compare({Array::Kind::output, layer});
  }
  for (std::size_t slot = 0; slot < described.inputs.size(); ++slot) {
    INFO("gradient of input ", slot);
    if (described.inputs[slot] != Model::input_layer) compare({Array::Kind::input_gradient, layer, slot});
  }
  for (const auto& [owner, i] : weights_of(both.network(), layer)) {
    INFO("gradient of ", both.network().model.layers[owner].tensors[i].name);
    compare({Array::Kind::parameter_gradient, owner, i});
  }
  return both.gpu.describe().kernels.value(described.name, Json());
}

/// Branches, an output with several readers, one read twice, two heads, one of them an image.
const std::string branches = R"(
    {"name": "a", "op": "conv2d", "out_channels": 8, "kernel": 3, "pad": 1},
    {"name": "b", "op": "tanh"},
    {"name": "c", "op": "conv2d", "out_channels": 8, "kernel": 1, "inputs": ["b"]},
    {"name": "d", "op": "add", "inputs": ["c", "b", "b"]},
    {"name": "e", "op": "concat", "inputs": ["d", "b"]},
    {"name": "f", "op": "batch_norm"},
    {"name": "g", "op": "flatten"},
    {"name": "h", "op": "linear", "out_features": 4},
    {"name": "i", "op": "adaptive_avg_pool", "output": 2, "inputs": ["d"]},
    {"name": "j", "op": "conv2d", "out_channels": 8, "kernel": 1}],
    "outputs": ["h", "j")";

/// Two embeddings whose weights other layers share, one of them twice.
const std::string shared_weights = R"(
    {"name": "other", "op": "embedding", "entries": 8, "width": 8},
    {"name": "words", "op": "embedding", "entries": 16, "width": 8, "inputs": ["$input"]},
    {"name": "sum", "op": "add", "inputs": ["words", "other"]},
    {"name": "norm", "op": "layer_norm"},
    {"name": "scores", "op": "tied_linear", "out_features": 16},
    {"name": "narrow", "op": "linear", "out_features": 8},
    {"name": "head", "op": "tied_linear", "out_features": 16},
    {"name": "others", "op": "tied_linear", "out_features": 8, "inputs": ["norm"]}],
    "outputs": ["head", "others")";

/// The network is deep enough for rounding to add up.
const std::vector<Format> formats_of_networks = {{"fp32", 1e-3}, {"tf32", 2e-2}, {"fp16", 5e-2}, {"bf16", 2e-1}};

template <class Compare>
void for_each_parameter(const Network& network, Compare compare) {
  for (std::size_t layer = 0; layer < network.layers.size(); ++layer) {
    for (std::size_t i = 0; i < network.model.layers[layer].tensors.size(); ++i) {
      CAPTURE(network.model.layers[layer].tensors[i].name);
      compare(layer, i);
    }
  }
}

}  // namespace

TEST_SUITE("Does the GPU compute what the CPU does?") {
  TEST_CASE("every op but attention, forward and backward, in every format") {
    for (const Format& format : formats) {
      for (const OpCase& tested : op_cases()) {
        if (tested.op == "attention") continue;
        CAPTURE(format.dtype);
        CAPTURE(tested.op);
        CAPTURE(tested.layers);
        compare_op(tested, format);
      }
    }
  }

  TEST_CASE("every op that the CUDA device has is among them") {
    std::set<std::string> tested;
    for (const OpCase& row : op_cases()) tested.insert(row.op);
    for (const Op& op : ops()) {
      CAPTURE(op.name);
      CHECK((cuda_op(op.name) != nullptr) == tested.contains(std::string(op.name)));
    }
  }

  TEST_CASE("a whole network: loss and the gradients of all parameters") {
    for (const Format& format : formats_of_networks) {
      CAPTURE(format.dtype);
      Both both(model_of("[2, 4, 4]", branches), 8, format.dtype);
      REQUIRE(both.network().heads.size() == 2);
      both.train();
      CHECK(both.gpu.loss() == doctest::Approx(both.cpu.loss()).epsilon(format.tolerance));
      for_each_parameter(both.network(), [&](std::size_t layer, std::size_t i) {
        const Array gradient = {Array::Kind::parameter_gradient, layer, i};
        check_close(both.gpu.read(gradient), both.cpu.read(gradient), format.tolerance);
      });
    }
  }

  TEST_CASE("shared weights: the gradients of all that use them add up") {
    for (const Format& format : formats_of_networks) {
      CAPTURE(format.dtype);
      Both both(model_of("[6]", shared_weights), 4, format.dtype);
      both.train();
      for_each_parameter(both.network(), [&](std::size_t layer, std::size_t i) {
        const Array gradient = {Array::Kind::parameter_gradient, layer, i};
        check_close(both.gpu.read(gradient), both.cpu.read(gradient), format.tolerance);
      });
    }
  }

  TEST_CASE("three updates from the same gradients") {
    for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::adam}) {
      for (const Format& format : formats) {
        CAPTURE(name_of(optimizer));
        CAPTURE(format.dtype);
        Both both(model_of("[2, 4, 4]", branches), 8, format.dtype, optimizer);
        for (const std::int64_t step : {23, 31, 43}) {
          for_each_parameter(both.network(), [&](std::size_t layer, std::size_t i) {
            const std::int64_t count = elements(both.network().model.layers[layer].tensors[i].shape);
            both.write({Array::Kind::parameter_gradient, layer, i}, numbers(count, step));
          });
          both.each([](Device& device) { device.update(); });
        }
        // Biases begin at zero, so that they are the sums of their updates.
        for_each_parameter(both.network(), [&](std::size_t layer, std::size_t i) {
          const Array parameter = {Array::Kind::parameter, layer, i};
          check_close(both.gpu.read(parameter), both.cpu.read(parameter), format.tolerance);
        });
      }
    }
  }

  TEST_CASE("training, with momentum") {
    for (const Format& format : formats_of_networks) {
      CAPTURE(format.dtype);
      Both both(model_of("[2, 4, 4]", branches), 8, format.dtype);
      for (int iteration = 0; iteration < 3; ++iteration) {
        both.train();
        both.each([](Device& device) { device.update(); });
      }
      for_each_parameter(both.network(), [&](std::size_t layer, std::size_t i) {
        const Array parameter = {Array::Kind::parameter, layer, i};
        check_close(both.gpu.read(parameter), both.cpu.read(parameter), format.tolerance);
      });
    }
  }
}

TEST_SUITE("Does the GPU measure what it should?") {
  TEST_CASE("the layers of ResNet-20 add up to its iteration") {
    for (const Format& format : formats) {
      CAPTURE(format.dtype);
      const Network network = resnet20(format);
      CudaDevice device;
      device.set_up(network);
      const Recording recording = record(device, network.layers.size(), {});
      const Summary summary = summarize(recording);
      for (const std::string& warning : summary.warnings) {
        CAPTURE(warning);
        CHECK(warning.find("add up") == std::string::npos);
      }
      CHECK(recording.floor.value >= 0);
      CHECK(recording.floor.value < 20e-6);
      CHECK(summary.busy.iteration.median.value > 0);
      CHECK(summary.backward_span >= 0.9 * summary.backward_busy);
      CHECK(std::isfinite(device.loss()));
    }
  }

  TEST_CASE("a graph trains, and takes no longer than the work that was queued first") {
    for (const Format& format : formats) {
      CAPTURE(format.dtype);
      const Network network = resnet20(format);
      CudaDevice device;
      device.set_up(network);
      RecordingOptions options;
      options.graphs = true;
      options.warmup = 2;
      record(device, network.layers.size(), options);
      const Array weight = {Array::Kind::parameter, 0, 0};
      const Summary summary = summarize(record(device, network.layers.size(), options));
      CHECK(summary.forward_span <= 1.1 * summary.forward_busy);
      CHECK(summary.forward_span >= 0.5 * summary.forward_busy);
      CHECK(summary.backward_span <= 1.1 * summary.backward_busy);
      CHECK(summary.backward_span >= 0.5 * summary.backward_busy);
      const std::vector<float> by_launches = device.read(weight);
      device.begin(Run::graph);
      pass_through(device, network.layers.size());
      device.update();
      device.collect();
      CHECK(device.read(weight) != by_launches);
      CHECK(std::isfinite(device.loss()));
    }
  }

  TEST_CASE("a batch that does not fit is an error that names both sizes") {
    const Network network = plan_network(read_model(Document::read(MODELS "/resnet20.json")), 131'000, "fp32", gpu_layout("fp32"));
    CudaDevice device;
    std::string message;
    try {
      device.set_up(network);
    } catch (const DeviceError& error) {
      message = error.what();
    }
    CAPTURE(message);
    CHECK(message.find("at batch 131000 needs ") != std::string::npos);
    CHECK(message.find(" are free on ") != std::string::npos);
    CHECK(message.find("choose a smaller --batch") != std::string::npos);
  }

  TEST_CASE("it says what it is") {
    const DeviceDescription description = CudaDevice().describe();
    CHECK(description.kind == "gpu");
    CHECK_FALSE(description.name.empty());
    CHECK(CudaDevice().asynchronous());
    for (const char* key : {"cuda_runtime", "cuda_driver", "cudnn", "cublas"}) CHECK(description.software.contains(key));
  }
}

// The last suite, whose tests' names begin with attention: an engine that accesses foreign memory fails all that its process does later.
TEST_SUITE("Does attention, in 16 bits one operation of cuDNN, compute what the CPU does?") {
  TEST_CASE("attention, forward and backward, in every format, and fused where cuDNN has it") {
    int capability = 0;
    REQUIRE(cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess);
    const bool has_engines = capability >= 8 && cudnnGetVersion() >= fused_attention_since;  // as capture.fused_attention finds
    for (const Format& format : formats) {
      const bool fused = has_engines && (format.dtype == "fp16" || format.dtype == "bf16");
      for (const auto& cases : {op_cases(), wide_attention()}) {
        for (const OpCase& tested : cases) {
          if (tested.op != "attention") continue;
          CAPTURE(format.dtype);
          CAPTURE(tested.input);
          CAPTURE(tested.layers);
          const Json kernels = compare_op(tested, format);
          CAPTURE(kernels.dump());
          for (const std::size_t pass : {0U, 1U}) CHECK((kernels.at(pass).get<std::string>().find("engine") == 0) == fused);
        }
      }
    }
  }
}

int main(int argc, char** argv) {
  try {
    make_cuda();
  } catch (const DeviceError& error) {
    fmt::print("SKIPPED: no NVIDIA GPU ({})\n", error.what());
    constexpr int skipped = 77;
    return skipped;
  }
  return doctest::Context(argc, argv).run();
}
