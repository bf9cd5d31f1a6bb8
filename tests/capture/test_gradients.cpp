#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include "capture/cpu/device.hpp"

using namespace syncopate;
using namespace syncopate::capture;

namespace {

constexpr std::int64_t batch = 2;

Network network_of(const std::string& input, const std::string& layers) {
  const std::string text = fmt::format(R"({{"format": "model/1", "name": "net", "input": {}, "layers": [{}]}})", input, layers);
  return plan_network(read_model(Document(parse_json(text, "net.json"), "net.json")), batch, "fp32", Layout::channels_last);
}

/// Multiples of `spacing` in random order, none of them 0: whoever moves one by less than half of it neither passes
/// another one nor changes its sign, so that maxima and kinks stay where they are.
std::vector<float> spaced(std::size_t count, double spacing, std::mt19937& random) {
  std::vector<float> values(count);
  const std::size_t middle = count / 2;
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>((static_cast<double>(i) - static_cast<double>(middle) + 0.5) * spacing);
  std::shuffle(values.begin(), values.end(), random);
  return values;
}

std::vector<float> normal(std::size_t count, std::mt19937& random) {
  std::normal_distribution<float> draw;
  std::vector<float> values(count);
  std::generate(values.begin(), values.end(), [&] { return draw(random); });
  return values;
}

/// An op as the last layer, behind trainable layers that make its inputs.
struct Case {
  std::string op;
  std::string input;
  std::string layers;
  double spacing = 0.05;
};

const std::string conv = R"({"name": "a", "op": "conv2d", "out_channels": 4, "kernel": 1, "inputs": ["$input"]},)";
const std::string narrow = R"({"name": "b", "op": "conv2d", "out_channels": 3, "kernel": 1, "inputs": ["$input"]},)";
const std::string linear = R"({"name": "a", "op": "linear", "out_features": 6, "inputs": ["$input"]},)";
const std::string second = R"({"name": "b", "op": "linear", "out_features": 6, "inputs": ["$input"]},)";
const std::string third = R"({"name": "c", "op": "linear", "out_features": 6, "inputs": ["$input"]},)";

std::string last(const std::string& attributes) { return R"({"name": "under test", "op": )" + attributes + "}"; }

const std::vector<Case> cases = {
    {"conv2d", "[2, 5, 6]", conv + last(R"("conv2d", "out_channels": 3, "kernel": [3, 2], "stride": [2, 1], "pad": 1)")},
    {"conv2d", "[2, 5, 5]", conv + last(R"("conv2d", "out_channels": 6, "kernel": 3, "groups": 2, "bias": false)")},
    {"conv1d", "[7, 3]", linear + last(R"("conv1d", "out_channels": 4, "kernel": 3, "stride": 2, "pad": 1)")},
    {"linear", "[5]", linear + last(R"("linear", "out_features": 4)")},
    {"linear", "[3, 5]", linear + last(R"("linear", "out_features": 4, "bias": false)")},
    {"batch_norm", "[2, 3, 3]", conv + last(R"("batch_norm")")},
    {"layer_norm", "[3, 5]", linear + last(R"("layer_norm")")},
    {"lrn", "[2, 3, 3]", conv + last(R"("lrn")")},
    {"relu", "[2, 3, 3]", conv + last(R"("relu")")},
    {"tanh", "[3, 5]", linear + last(R"("tanh")")},
    {"gelu", "[3, 5]", linear + last(R"("gelu")")},
    {"silu", "[3, 5]", linear + last(R"("silu")")},
    {"sigmoid", "[3, 5]", linear + last(R"("sigmoid")")},
    {"dropout", "[3, 5]", linear + last(R"("dropout")")},
    {"max_pool", "[2, 6, 6]", conv + last(R"("max_pool", "kernel": 3, "stride": 2, "pad": 1, "ceil": true)")},
    {"avg_pool", "[2, 6, 6]", conv + last(R"("avg_pool", "kernel": 3, "stride": 2, "pad": 1, "ceil": true)")},
    {"adaptive_avg_pool", "[2, 6, 4]", conv + last(R"("adaptive_avg_pool", "output": 2)")},
    {"adaptive_avg_pool", "[2, 7, 5]", conv + last(R"("adaptive_avg_pool", "output": [3, 2])")},
    {"max_over_time", "[4, 5]", linear + last(R"("max_over_time")")},
    {"flatten", "[2, 3, 3]", conv + last(R"("flatten")")},
    {"flatten", "[2, 1, 1]", conv + last(R"("flatten")")},
    {"first_token", "[4, 5]", linear + last(R"("first_token")")},
    {"add", "[3, 5]", linear + second + third + last(R"("add", "inputs": ["a", "b", "c"])")},
    {"concat", "[2, 3, 3]", conv + narrow + last(R"("concat", "inputs": ["b", "a"])")},
    {"concat", "[3, 5]", linear + second + last(R"("concat", "inputs": ["b", "a"])")},
    {"pad_shortcut", "[2, 5, 5]", conv + last(R"("pad_shortcut", "out_channels": 7, "stride": 2)")},
    {"attention", "[3, 5]", linear + second + third + last(R"("attention", "heads": 2, "inputs": ["a", "b", "c"])"), 0.04},
    {"embedding", "[4]", last(R"("embedding", "entries": 5, "width": 3)")},
};

/// A network whose last layer alone runs, on numbers of the test's own; "loss" is a random weighting of its output.
class LayerUnderTest {
 public:
  LayerUnderTest(const Case& tested, CpuDevice& device)
      : device_(device), network_(network_of(tested.input, tested.layers)), layer_(network_.layers.size() - 1) {
    device_.set_up(network_);
    device_.begin(false);
    for (std::size_t slot = 0; slot < described().inputs.size(); ++slot) {
      if (source(slot) == Model::input_layer) continue;
      const auto count = static_cast<std::size_t>(network_.layers[source(slot)].elements);
      set({Array::Kind::output, source(slot)}, spaced(count, tested.spacing, random_));
    }
    for (std::size_t i = 0; i < described().tensors.size(); ++i) {
      set({Array::Kind::parameter, layer_, i}, normal(static_cast<std::size_t>(elements(described().tensors[i].shape)), random_));
    }
    weights_ = normal(static_cast<std::size_t>(network_.layers[layer_].elements), random_);
  }

  const ModelLayer& described() const { return network_.model.layers[layer_]; }
  std::size_t source(std::size_t slot) const { return described().inputs[slot]; }
  std::size_t index() const { return layer_; }

  double loss() {
    device_.forward(layer_);
    const std::vector<float> output = device_.read({Array::Kind::output, layer_});
    return std::inner_product(output.begin(), output.end(), weights_.begin(), 0.0);
  }

  void backward() {
    device_.forward(layer_);
    device_.write({Array::Kind::output_gradient, layer_}, weights_);
    device_.backward(layer_);
  }

  /// Compares a gradient with central differences of the loss in every element of `variable`.
  void check(const Array& variable, const std::vector<float>& gradient) {
    constexpr double step = 0.01;
    constexpr double tolerance = 5e-3;
    std::vector<float> values = written_.at({static_cast<int>(variable.kind), variable.layer, variable.index});
    REQUIRE(gradient.size() == values.size());
    const double largest =
        std::abs(*std::max_element(gradient.begin(), gradient.end(), [](float a, float b) { return std::abs(a) < std::abs(b); }));
    REQUIRE(largest > 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float value = values[i];
      const auto loss_at = [&](double moved) {
        values[i] = static_cast<float>(moved);
        device_.write(variable, values);
        return loss();
      };
      const double difference = (loss_at(value + step) - loss_at(value - step)) / (2 * step);
      loss_at(value);
      INFO("element ", i, ": the gradient is ", gradient[i], ", the difference quotient ", difference);
      CHECK(std::abs(gradient[i] - difference) <= tolerance * std::max(largest, 1.0));
    }
  }

 private:
  void set(const Array& array, const std::vector<float>& values) {
    device_.write(array, values);
    written_[{static_cast<int>(array.kind), array.layer, array.index}] = values;
  }

  CpuDevice& device_;
  std::mt19937 random_{1};
  Network network_;
  std::size_t layer_;
  std::vector<float> weights_;
  std::map<std::tuple<int, std::size_t, std::size_t>, std::vector<float>> written_;  // a layer may write over its input
};

}  // namespace

TEST_SUITE("Are the gradients of every op on the CPU those of its forward?") {
  TEST_CASE("finite differences in every input and parameter") {
    for (const Case& tested : cases) {
      CAPTURE(tested.op);
      CAPTURE(tested.layers);
      CpuDevice device(1);
      LayerUnderTest layer(tested, device);
      layer.backward();
      std::vector<std::pair<Array, std::vector<float>>> gradients;
      for (std::size_t slot = 0; slot < layer.described().inputs.size(); ++slot) {
        if (layer.source(slot) == Model::input_layer) continue;
        gradients.emplace_back(Array{Array::Kind::output, layer.source(slot)},
                               device.read({Array::Kind::input_gradient, layer.index(), slot}));
      }
      for (std::size_t i = 0; i < layer.described().tensors.size(); ++i) {
        gradients.emplace_back(Array{Array::Kind::parameter, layer.index(), i},
                               device.read({Array::Kind::parameter_gradient, layer.index(), i}));
      }
      CHECK_FALSE(gradients.empty());
      for (const auto& [variable, gradient] : gradients) layer.check(variable, gradient);
    }
  }

  TEST_CASE("every op that the CPU device has is among them") {
    std::set<std::string> tested;
    for (const Case& row : cases) tested.insert(row.op);
    for (const Op& op : ops()) {
      CAPTURE(op.name);
      CHECK((cpu_op(op.name) != nullptr) == tested.contains(std::string(op.name)));
    }
  }

  TEST_CASE("a whole network: branches, an output with several readers, one read twice, two heads") {
    const Network network = network_of("[2, 4, 4]", R"(
      {"name": "a", "op": "conv2d", "out_channels": 3, "kernel": 3, "pad": 1},
      {"name": "b", "op": "tanh"},
      {"name": "c", "op": "conv2d", "out_channels": 3, "kernel": 1, "inputs": ["b"]},
      {"name": "d", "op": "add", "inputs": ["c", "b", "b"]},
      {"name": "e", "op": "concat", "inputs": ["d", "b"]},
      {"name": "f", "op": "batch_norm"},
      {"name": "g", "op": "flatten"},
      {"name": "h", "op": "linear", "out_features": 4},
      {"name": "i", "op": "adaptive_avg_pool", "output": 1, "inputs": ["d"]},
      {"name": "j", "op": "flatten"},
      {"name": "k", "op": "linear", "out_features": 3}],
      "outputs": ["h", "k")");
    REQUIRE(network.heads == std::vector<std::size_t>{7, 10});
    CpuDevice device(1);
    device.set_up(network);
    device.begin(false);
    const auto loss = [&] {
      for (std::size_t i = 0; i <= network.layers.size(); ++i) device.forward(i);
      return device.loss();
    };
    loss();
    for (std::size_t i = network.layers.size() + 1; i-- > 0;) device.backward(i);
    for (std::size_t layer = 0; layer < network.layers.size(); ++layer) {
      for (std::size_t tensor = 0; tensor < network.model.layers[layer].tensors.size(); ++tensor) {
        CAPTURE(network.model.layers[layer].tensors[tensor].name);
        const Array parameter = {Array::Kind::parameter, layer, tensor};
        const std::vector<float> gradient = device.read({Array::Kind::parameter_gradient, layer, tensor});
        const std::vector<float> values = device.read(parameter);
        for (std::size_t i = 0; i < values.size(); i += 3) {
          constexpr float step = 0.01F;
          std::vector<float> moved = values;
          moved[i] = values[i] + step;
          device.write(parameter, moved);
          const double above = loss();
          moved[i] = values[i] - step;
          device.write(parameter, moved);
          const double difference = (above - loss()) / (2 * step);
          CAPTURE(i);
          CHECK(gradient[i] == doctest::Approx(difference).epsilon(1e-3).scale(1));
        }
        device.write(parameter, values);
      }
    }
  }
}
