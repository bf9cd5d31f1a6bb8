#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "capture/network.hpp"

using namespace syncopate;
using namespace syncopate::capture;

namespace {

Network plan(const std::string& input, const std::string& layers, std::int64_t batch = 1, const std::string& dtype = "fp32",
             Layout layout = Layout::channels_first) {
  const std::string text = fmt::format(R"({{"format": "model/1", "name": "net", "input": {}, "layers": [{}]}})", input, layers);
  return plan_network(read_model(Document(parse_json(text, "net.json"), "net.json")), batch, dtype, layout);
}

const std::string residual = R"(
  {"name": "a", "op": "linear", "out_features": 100},
  {"name": "b", "op": "relu"},
  {"name": "c", "op": "linear", "out_features": 100},
  {"name": "d", "op": "add", "inputs": ["c", "b"]},
  {"name": "e", "op": "linear", "out_features": 10})";

bool live_together(const Buffer& a, const Buffer& b) { return a.born <= b.dies && b.born <= a.dies; }

}  // namespace

TEST_SUITE("Is training planned right: where gradients flow, and what memory it takes?") {
  TEST_CASE("a sum hands its gradient on in the same memory, and the gradients of an output's readers are summed") {
    const Network network = plan("[50]", residual);
    const auto& layers = network.layers;
    CHECK(network.heads == std::vector<std::size_t>{4});
    CHECK(layers[0].input_gradients == std::vector<std::size_t>{NetworkLayer::no_buffer});
    CHECK(layers[3].input_gradients[0] == layers[3].output_gradient);
    CHECK(layers[3].input_gradients[1] == layers[3].output_gradient);
    CHECK(layers[2].output_gradient == layers[3].output_gradient);
    REQUIRE(layers[1].contributions.size() == 2);
    CHECK(layers[1].output_gradient != layers[1].contributions[0]);
    CHECK(layers[1].output_gradient != layers[1].contributions[1]);
    CHECK(layers[0].contributions == std::vector<std::size_t>{layers[0].output_gradient});
    CHECK(layers[2].sums == std::vector<std::size_t>{1});  // c reads b after d in backward
    for (const std::size_t other : {0U, 1U, 3U, 4U}) CHECK(layers[other].sums.empty());
  }

  TEST_CASE("nothing flows to where nothing trains") {
    const Network network = plan("[4, 6, 6]", R"({"name": "a", "op": "relu"}, {"name": "b", "op": "conv2d", "out_channels": 2, "kernel": 6},
                                                 {"name": "c", "op": "flatten"})");
    CHECK_FALSE(network.layers[0].trains);
    CHECK(network.layers[0].output_gradient == NetworkLayer::no_buffer);
    CHECK(network.layers[1].input_gradients == std::vector<std::size_t>{NetworkLayer::no_buffer});
    CHECK(network.layers[2].aliased);
  }

  TEST_CASE("flatten is a view where both orders are one") {
    const std::string layers = R"({"name": "a", "op": "conv2d", "out_channels": 2, "kernel": 1}, {"name": "b", "op": "flatten"})";
    CHECK(plan("[4, 6, 6]", layers).layers[1].aliased);
    CHECK_FALSE(plan("[4, 6, 6]", layers, 1, "fp32", Layout::channels_last).layers[1].aliased);
    CHECK(plan("[4, 1, 1]", layers, 1, "fp32", Layout::channels_last).layers[1].aliased);
  }

  TEST_CASE("tokens are a view of an image whose channels lie last") {
    const std::string layers = R"({"name": "a", "op": "conv2d", "out_channels": 2, "kernel": 1}, {"name": "b", "op": "to_tokens"})";
    CHECK_FALSE(plan("[4, 6, 6]", layers).layers[1].aliased);
    CHECK(plan("[4, 1, 1]", layers).layers[1].aliased);
    const Network last = plan("[4, 6, 6]", layers, 1, "fp32", Layout::channels_last);
    CHECK(last.layers[1].aliased);
    CHECK(last.layers[1].input_gradients[0] == last.layers[1].output_gradient);
  }

  TEST_CASE("the last user of a shared weight begins its gradient, the others add to it") {
    const Network network = plan("[10]", R"({"name": "other", "op": "embedding", "entries": 9, "width": 8},
                                            {"name": "words", "op": "embedding", "entries": 9, "width": 4, "inputs": ["$input"]},
                                            {"name": "same", "op": "embedding", "entries": 9, "width": 4, "inputs": ["$input"]},
                                            {"name": "sum", "op": "add", "inputs": ["words", "same"]},
                                            {"name": "scores", "op": "tied_linear", "out_features": 9},
                                            {"name": "narrow", "op": "linear", "out_features": 4},
                                            {"name": "head", "op": "tied_linear", "out_features": 9}], "outputs": ["other", "head")");
    std::vector<std::size_t> tables;
    std::vector<bool> adds;
    for (const NetworkLayer& layer : network.layers) {
      tables.push_back(layer.table);
      adds.push_back(layer.adds_to_gradient);
    }
    constexpr std::size_t none = NetworkLayer::no_table;
    CHECK(tables == std::vector<std::size_t>{none, none, none, none, 1, none, 1});
    CHECK(adds == std::vector<bool>{false, true, false, false, true, false, false});
  }

  TEST_CASE("an op that a device lacks is an error that names it") {
    const Network network = plan("[50]", residual);
    require_ops(network, "small", [](std::string_view /*op*/) { return true; });
    CHECK_THROWS_WITH_AS(require_ops(network, "small", [](std::string_view op) { return op != "add"; }),
                         "net.json: layer d: the small device does not support add; import a PyTorch profile of this model instead",
                         InputError);
  }

  TEST_CASE("a ReLU works in place where nobody else reads its input, and on gradients that nobody else reads") {
    CHECK(plan("[50]", residual).layers[1].aliased);
    const Network busy = plan("[50]", R"(
      {"name": "a", "op": "linear", "out_features": 100},
      {"name": "b", "op": "relu"},
      {"name": "c", "op": "linear", "out_features": 100, "inputs": ["a"]},
      {"name": "d", "op": "tanh"},
      {"name": "e", "op": "relu"},
      {"name": "f", "op": "add", "inputs": ["e", "b"]})");
    CHECK_FALSE(busy.layers[1].aliased);  // c reads a too
    CHECK_FALSE(busy.layers[4].aliased);  // tanh's backward may read its output
    // b and e were handed one gradient, which neither may change.
    CHECK(busy.layers[1].output_gradient == busy.layers[4].output_gradient);
    CHECK(busy.layers[1].input_gradients[0] != busy.layers[1].output_gradient);
    CHECK(busy.layers[4].input_gradients[0] != busy.layers[4].output_gradient);
    const Network chain = plan("[50]", R"({"name": "a", "op": "linear", "out_features": 9}, {"name": "b", "op": "relu"},
                                          {"name": "c", "op": "linear", "out_features": 2})");
    CHECK(chain.layers[1].aliased);
    CHECK(chain.layers[1].input_gradients[0] == chain.layers[1].output_gradient);
  }

  TEST_CASE("memory, by hand") {
    const Network network = plan("[50]", residual, 8);
    const double parameters = 50 * 100 + 100 + 100 * 100 + 100 + 100 * 10 + 10;
    CHECK(network.memory.input == Bytes(8 * 50 * 4));
    CHECK(network.memory.parameters == Bytes(4 * parameters));
    CHECK(network.memory.gradients == Bytes(4 * parameters));
    CHECK(network.memory.optimizer == Bytes(4 * parameters));
    CHECK(network.memory.activations == Bytes(3 * 3328 + 512));  // 3200 and 320 bytes in steps of 256
    // At the turn of b: what c and the addition left for it and their sum, which it then works on in place. 8 x 100 numbers are
    // 3200 bytes, in steps of 256: 3328.
    CHECK(network.memory.activation_gradients == Bytes(3 * 3328));
    const Network half = plan("[50]", residual, 8, "bf16");
    CHECK(half.memory.parameters == Bytes(6 * parameters));
    CHECK(half.memory.gradients == Bytes(2 * parameters));
    CHECK(half.memory.activations == Bytes(3 * 1792 + 256));
  }

  TEST_CASE("attention keeps its weights and their gradients; in 16 bits a number per row of them") {
    const std::string layers =
        R"({"name": "q", "op": "linear", "out_features": 8}, {"name": "k", "op": "linear", "out_features": 8, "inputs": ["$input"]},
                                  {"name": "a", "op": "attention", "heads": 2, "inputs": ["q", "k", "k"]})";
    CHECK(plan("[10, 6]", layers, 3).memory.kept == Bytes(2 * 3 * 2 * 10 * 10 * 4));
    CHECK(plan("[10, 6]", layers, 3, "bf16").memory.kept == Bytes(3 * 2 * 10 * 4));
    // Products of matrices in 16 bits, too, where an input needs no gradient, and on demand.
    const std::string of_input =
        R"({"name": "q", "op": "linear", "out_features": 8}, {"name": "a", "op": "attention", "heads": 2, "inputs": ["q", "q", "$input"]})";
    CHECK(plan("[10, 8]", of_input, 3, "bf16").memory.kept == Bytes(2 * 3 * 2 * 10 * 10 * 2));
    const Network products = plan_network(plan("[10, 6]", layers).model, 3, "bf16", Layout::channels_last, Optimizer::sgd, false);
    CHECK(products.memory.kept == Bytes(2 * 3 * 2 * 10 * 10 * 2));
  }

  TEST_CASE("ids go into embeddings only, and embeddings read ids only") {
    const std::string embedding = R"({"name": "a", "op": "embedding", "entries": 7, "width": 4})";
    CHECK(plan("[10]", embedding + R"(, {"name": "b", "op": "embedding", "entries": 9, "width": 4, "inputs": ["$input"]},
                                         {"name": "c", "op": "add", "inputs": ["a", "b"]})")
              .largest_id == 9);
    CHECK_THROWS_WITH_AS(
        plan("[10]", embedding + R"(, {"name": "b", "op": "linear", "out_features": 9, "inputs": ["$input"]}], "outputs": ["a", "b")"),
        "net.json: layer b: linear reads the model's input, which is a list of ids; only an embedding can", InputError);
    CHECK_THROWS_WITH_AS(
        plan("[10]", R"({"name": "a", "op": "linear", "out_features": 9}, {"name": "b", "op": "embedding", "entries": 9, "width": 4})"),
        "net.json: layer b: an embedding can be captured only if it reads the model's input", InputError);
  }

  TEST_CASE("gradients that live at one time never share memory, in every model that is shipped") {
    int models = 0;
    int sums = 0;
    for (const auto& entry : std::filesystem::directory_iterator(MODELS)) {
      if (entry.path().extension() != ".json") continue;
      CAPTURE(entry.path().string());
      const Network network = plan_network(read_model(Document::read(entry.path())), 2, "fp32", Layout::channels_first);
      ++models;
      std::vector<std::int64_t> alive(network.layers.size() + 1);
      for (const Buffer& buffer : network.buffers) {
        for (std::size_t step = buffer.born; step <= buffer.dies; ++step) alive[step] += 4 * buffer.elements;
      }
      CHECK(network.buffer_bytes < 1.3 * static_cast<double>(*std::max_element(alive.begin(), alive.end())));
      std::size_t overlaps = 0;
      for (std::size_t i = 0; i < network.buffers.size(); ++i) {
        const Buffer& a = network.buffers[i];
        REQUIRE(a.offset + 4 * a.elements <= network.buffer_bytes);
        for (std::size_t j = 0; j < i; ++j) {
          const Buffer& b = network.buffers[j];
          if (live_together(a, b) && a.offset < b.offset + 4 * b.elements && b.offset < a.offset + 4 * a.elements) ++overlaps;
        }
      }
      CHECK(overlaps == 0);
      // Every layer finds the gradients that it reads still there: born before its step, dead not before it.
      for (std::size_t i = 0; i < network.layers.size(); ++i) {
        const std::size_t step = network.layers.size() - i;
        for (const std::size_t buffer : network.layers[i].contributions) {
          REQUIRE(network.buffers[buffer].born < step);
          REQUIRE(network.buffers[buffer].dies >= step);
        }
        // It sums what is complete, into memory that is the sum's from then on.
        for (const std::size_t summed : network.layers[i].sums) {
          ++sums;
          const NetworkLayer& of = network.layers[summed];
          REQUIRE(of.contributions.size() > 1);
          for (const std::size_t buffer : of.contributions) REQUIRE(network.buffers[buffer].born <= step);
          REQUIRE(network.buffers[of.output_gradient].born <= step);
          REQUIRE(network.buffers[of.output_gradient].dies >= network.layers.size() - summed);
        }
      }
    }
    CHECK(models >= 15);
    CHECK(sums > 100);
  }

  TEST_CASE("a batch that no device could hold is refused") {
    CHECK_THROWS_WITH_AS(plan("[1000000]", R"({"name": "a", "op": "linear", "out_features": 1000000})", 1'000'000'000),
                         doctest::Contains("choose a smaller --batch"), InputError);
  }
}
