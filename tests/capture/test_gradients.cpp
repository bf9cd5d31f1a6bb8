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
#include "op_cases.hpp"

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

/// Near enough to each other that nothing saturates, and far enough apart where a maximum or a kink must stay where it is.
double spacing_of(const std::string& op, std::size_t count) {
  const bool smooth = op != "relu" && op != "max_pool" && op != "max_over_time";
  return smooth ? 4.0 / static_cast<double>(count) : 0.05;
}

/// A network whose last layer alone runs, on numbers of the test's own; "loss" is a random weighting of its output.
class LayerUnderTest {
 public:
  LayerUnderTest(const OpCase& tested, CpuDevice& device)
      : device_(device), network_(network_of(tested.input, tested.layers)), layer_(network_.layers.size() - 1) {
    device_.set_up(network_);
    device_.begin(Run::free);
    for (std::size_t slot = 0; slot < described().inputs.size(); ++slot) {
      if (source(slot) == Model::input_layer) continue;
      const auto count = static_cast<std::size_t>(network_.layers[source(slot)].elements);
      set({Array::Kind::output, source(slot)}, spaced(count, spacing_of(tested.op, count), random_));
    }
    for (const auto& [layer, i] : weights()) {
      const Shape& shape = network_.model.layers[layer].tensors[i].shape;
      set({Array::Kind::parameter, layer, i}, normal(static_cast<std::size_t>(elements(shape)), random_));
    }
    weights_ = normal(static_cast<std::size_t>(network_.layers[layer_].elements), random_);
  }

  const ModelLayer& described() const { return network_.model.layers[layer_]; }
  std::size_t source(std::size_t slot) const { return described().inputs[slot]; }
  std::size_t index() const { return layer_; }
  /// Layer and number of each tensor with which it computes, one of which may be an embedding's.
  std::vector<std::pair<std::size_t, std::size_t>> weights() const {
    std::vector<std::pair<std::size_t, std::size_t>> found;
    for (std::size_t i = 0; i < described().tensors.size(); ++i) found.emplace_back(layer_, i);
    const std::size_t table = network_.layers[layer_].table;
    if (table != NetworkLayer::no_table) found.emplace_back(table, 0);
    return found;
  }

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

/// Compares the gradients of parameters with central differences of the whole network's loss.
void check_whole_network(const Network& network) {
  CpuDevice device(1);
  device.set_up(network);
  device.begin(Run::free);
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

}  // namespace

TEST_SUITE("Are the gradients of every op on the CPU those of its forward?") {
  TEST_CASE("finite differences in every input and parameter") {
    for (const OpCase& tested : op_cases()) {
      CAPTURE(tested.op);
      CAPTURE(tested.layers);
      CpuDevice device(1);
      LayerUnderTest layer(tested, device);
      layer.backward();
      std::map<std::size_t, std::vector<float>> by_source;  // an input that is read twice has two gradients
      for (std::size_t slot = 0; slot < layer.described().inputs.size(); ++slot) {
        if (layer.source(slot) == Model::input_layer) continue;
        const std::vector<float> gradient = device.read({Array::Kind::input_gradient, layer.index(), slot});
        std::vector<float>& sum = by_source[layer.source(slot)];
        sum.resize(gradient.size());
        std::transform(sum.begin(), sum.end(), gradient.begin(), sum.begin(), std::plus<>());
      }
      std::vector<std::pair<Array, std::vector<float>>> gradients;
      for (const auto& [source, gradient] : by_source) gradients.emplace_back(Array{Array::Kind::output, source}, gradient);
      for (const auto& [owner, i] : layer.weights())
        gradients.emplace_back(Array{Array::Kind::parameter, owner, i}, device.read({Array::Kind::parameter_gradient, owner, i}));
      CHECK_FALSE(gradients.empty());
      for (const auto& [variable, gradient] : gradients) layer.check(variable, gradient);
    }
  }

  TEST_CASE("every op that the CPU device has is among them") {
    std::set<std::string> tested;
    for (const OpCase& row : op_cases()) tested.insert(row.op);
    for (const Op& op : ops()) {
      CAPTURE(op.name);
      CHECK((cpu_op(op.name) != nullptr) == tested.contains(std::string(op.name)));
    }
  }

  TEST_CASE("a shared weight's gradient is the sum of those of all layers that use it") {
    check_whole_network(network_of("[6]", R"(
      {"name": "other", "op": "embedding", "entries": 7, "width": 4},
      {"name": "words", "op": "embedding", "entries": 9, "width": 4, "inputs": ["$input"]},
      {"name": "sum", "op": "add", "inputs": ["words", "other"]},
      {"name": "norm", "op": "layer_norm"},
      {"name": "scores", "op": "tied_linear", "out_features": 9},
      {"name": "narrow", "op": "linear", "out_features": 4},
      {"name": "head", "op": "tied_linear", "out_features": 9},
      {"name": "others", "op": "tied_linear", "out_features": 7, "inputs": ["norm"]}],
      "outputs": ["head", "others")"));
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
    check_whole_network(network);
  }
}
