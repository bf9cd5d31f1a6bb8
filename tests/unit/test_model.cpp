#include <doctest/doctest.h>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "model/model.hpp"

using namespace syncopate;

namespace {

Model read(const std::string& text) { return read_model(Document(parse_json(text, "model.json"), "model.json")); }

/// A model of one layer under test and a linear one behind it, so that there is something to train.
Model one_layer(const std::string& input, const std::string& layer) {
  const std::string rank = input.find(',') == std::string::npos ? "" : R"({"name": "flat", "op": "flatten"},)";
  return read(R"({"format": "model/1", "name": "one", "input": )" + input + R"(, "layers": [)" + layer + "," + rank +
              R"({"name": "end", "op": "linear", "out_features": 1}]})");
}

std::vector<std::string> names(const Model& model) {
  std::vector<std::string> found;
  for (const ModelLayer& layer : model.layers) found.push_back(layer.name);
  return found;
}

}  // namespace

TEST_SUITE("Is everything that follows from a model's description computed right?") {
  TEST_CASE("shapes, parameters and MACs of every op") {
    struct Row {
      std::string input;
      std::string layer;
      Shape output;
      double parameters;
      double macs;
    };
    const std::vector<Row> table = {
        {"[3, 8, 8]", R"({"name": "l", "op": "conv2d", "out_channels": 5, "kernel": 3})", {5, 6, 6}, 3 * 5 * 9 + 5, 5 * 36 * 27},
        {"[3, 8, 8]", R"({"name": "l", "op": "conv2d", "out_channels": 5, "kernel": 3, "bias": false})", {5, 6, 6}, 3 * 5 * 9, 5 * 36 * 27},
        {"[3, 9, 8]",
         R"({"name": "l", "op": "conv2d", "out_channels": 4, "kernel": [1, 7], "pad": [0, 3], "stride": 2})",
         {4, 5, 4},
         3 * 4 * 7 + 4,
         4 * 20 * 21},
        {"[4, 8, 8]", R"({"name": "l", "op": "conv2d", "out_channels": 6, "kernel": 1, "groups": 2})", {6, 8, 8}, 6 * 2 + 6, 6 * 64 * 2},
        {"[10, 6]",
         R"({"name": "l", "op": "conv1d", "out_channels": 7, "kernel": 3, "pad": 1, "stride": 2})",
         {5, 7},
         7 * 6 * 3 + 7,
         35 * 18},
        {"[12]", R"({"name": "l", "op": "linear", "out_features": 5})", {5}, 65, 60},
        {"[10, 12]", R"({"name": "l", "op": "linear", "out_features": 5, "bias": false})", {10, 5}, 60, 600},
        {"[10]", R"({"name": "l", "op": "embedding", "entries": 100, "width": 8})", {10, 8}, 800, 0},
        {"[3, 8, 8]", R"({"name": "l", "op": "batch_norm"})", {3, 8, 8}, 6, 0},
        {"[10, 12]", R"({"name": "l", "op": "layer_norm"})", {10, 12}, 24, 0},
        {"[10, 12]", R"({"name": "l", "op": "rms_norm"})", {10, 12}, 12, 0},
        {"[3, 8, 8]", R"({"name": "l", "op": "lrn"})", {3, 8, 8}, 0, 0},
        {"[3, 8, 8]", R"({"name": "l", "op": "dropout"})", {3, 8, 8}, 0, 0},
        {"[3, 8, 8]", R"({"name": "l", "op": "max_pool", "kernel": 3, "stride": 2, "pad": 1})", {3, 4, 4}, 0, 0},
        {"[3, 8, 8]", R"({"name": "l", "op": "avg_pool", "kernel": 2})", {3, 4, 4}, 0, 0},
        {"[3, 112, 112]", R"({"name": "l", "op": "max_pool", "kernel": 3, "stride": 2})", {3, 55, 55}, 0, 0},
        {"[3, 112, 112]", R"({"name": "l", "op": "max_pool", "kernel": 3, "stride": 2, "ceil": true})", {3, 56, 56}, 0, 0},
        // Rounding up would put a window where there is no input left: PyTorch drops it.
        {"[3, 4, 4]", R"({"name": "l", "op": "max_pool", "kernel": 1, "stride": 2, "ceil": true})", {3, 2, 2}, 0, 0},
        {"[3, 8, 8]", R"({"name": "l", "op": "adaptive_avg_pool", "output": [2, 1]})", {3, 2, 1}, 0, 0},
        {"[6, 8, 8]", R"({"name": "l", "op": "group_norm", "groups": 3})", {6, 8, 8}, 12, 0},
        {"[6, 8, 8]",
         R"({"name": "l", "op": "conv_transpose2d", "out_channels": 4, "kernel": 2, "stride": 2})",
         {4, 16, 16},
         6 * 4 * 4 + 4,
         6 * 64 * 4 * 4},
        {"[6, 8, 8]", R"({"name": "l", "op": "upsample", "scale": 2})", {6, 16, 16}, 0, 0},
        {"[6, 8, 4]", R"({"name": "l", "op": "to_tokens"})", {32, 6}, 0, 0},
        {"[10, 6]", R"({"name": "l", "op": "positional"})", {10, 6}, 60, 0},
        {"[6, 1, 1]", R"({"name": "l", "op": "multiply", "inputs": ["$input", "$input"]})", {6, 1, 1}, 0, 0},
        {"[10, 6]", R"({"name": "l", "op": "max_over_time"})", {6}, 0, 0},
        {"[10, 6]", R"({"name": "l", "op": "first_token"})", {6}, 0, 0},
        {"[3, 8, 8]", R"({"name": "l", "op": "pad_shortcut", "out_channels": 6, "stride": 2})", {6, 4, 4}, 0, 0},
        {"[10, 6]", R"({"name": "l", "op": "attention", "heads": 2, "inputs": ["$input", "$input", "$input"]})", {10, 6}, 0, 2 * 100 * 6},
        {"[10, 6]",
         R"({"name": "l", "op": "attention", "heads": 2, "causal": true, "inputs": ["$input", "$input", "$input"]})",
         {10, 6},
         0,
         2 * 55 * 6},
        {"[10, 18]", R"({"name": "l", "op": "attention", "heads": 2})", {10, 6}, 0, 2 * 100 * 6},
        {"[10, 8]", R"({"name": "l", "op": "rotary", "heads": 2})", {10, 8}, 0, 0},
        {"[10, 6]", R"({"name": "l", "op": "add", "inputs": ["$input", "$input"]})", {10, 6}, 0, 0},
        {"[10, 6]", R"({"name": "l", "op": "concat", "inputs": ["$input", "$input"]})", {10, 12}, 0, 0},
        {"[3, 8, 8]", R"({"name": "l", "op": "concat", "inputs": ["$input", "$input"]})", {6, 8, 8}, 0, 0},
    };
    for (const Row& row : table) {
      CAPTURE(row.layer);
      const Model model = one_layer(row.input, row.layer);
      CHECK(model.layers.front().output == row.output);
      CHECK(model.layers.front().parameters() == row.parameters);
      CHECK(model.layers.front().macs == row.macs);
    }
  }

  TEST_CASE("a tied layer multiplies with an embedding's weight and has none of its own") {
    const Model model = read(R"({"format": "model/1", "name": "tied", "input": [10], "layers": [
      {"name": "words", "op": "embedding", "entries": 50, "width": 6}, {"name": "head", "op": "tied_linear", "out_features": 50}]})");
    CHECK(model.layers.back().output == Shape{10, 50});
    CHECK(model.layers.back().macs == 10 * 6 * 50);
    CHECK(model.parameters() == 50 * 6);
    CHECK(model.layers.back().cost_class() == CostClass::linear);
  }

  TEST_CASE("only square convolutions of 3, stride 1 and one group are the ones that Winograd's algorithm computes") {
    const auto class_of = [](const std::string& attributes) {
      return one_layer("[4, 8, 8]", R"({"name": "l", "op": "conv2d", "out_channels": 4, )" + attributes + "}").layers.front().cost_class();
    };
    CHECK(class_of(R"("kernel": 3)") == CostClass::convolution_3x3);
    CHECK(class_of(R"("kernel": [3, 1])") == CostClass::convolution);
    CHECK(class_of(R"("kernel": 3, "stride": 2)") == CostClass::convolution);
    CHECK(class_of(R"("kernel": 3, "groups": 2)") == CostClass::convolution);
    CHECK(class_of(R"("kernel": 3, "groups": 4)") == CostClass::depthwise);
    CHECK(class_of(R"("kernel": 1)") == CostClass::convolution);
  }

  TEST_CASE("blocks, parameters and repetitions are written out") {
    const Model model = read(R"({
      "format": "model/1", "name": "blocks", "input": [4, 8, 8],
      "blocks": {
        "unit": {"parameters": {"out": null, "kernel": 1},
                 "layers": [{"name": "conv", "op": "conv2d", "out_channels": "$out", "kernel": ["$kernel", 1]}, {"name": "relu", "op": "relu"}]},
        "residual": {"parameters": {"width": null},
                     "layers": [{"name": "first", "block": "unit", "out": "$width"},
                                {"name": "more.#", "repeat": [1, 2], "block": "unit", "out": 4},
                                {"name": "sum", "op": "add", "inputs": ["$input", "more.2"]}]}
      },
      "layers": [{"name": "stage", "block": "residual", "width": 3},
                 {"name": "next.#", "repeat": [5, 6], "block": "residual", "width": 2},
                 {"name": "end", "op": "add", "inputs": ["stage.more.1.conv", "next.6"]}]})");
    CHECK(model.layers.size() == 22);
    CHECK(names(model)[1] == "stage.first.relu");
    CHECK(names(model)[4] == "stage.more.2.conv");
    CHECK(names(model)[7] == "next.5.first.conv");
    CHECK(model.layers[0].output == Shape{3, 8, 8});
    CHECK(model.layers[7].output == Shape{2, 8, 8});
    CHECK(model.layers[6].inputs == std::vector<std::size_t>{Model::input_layer, 5});
    CHECK(model.layers[7].inputs == std::vector<std::size_t>{6});
    CHECK(model.layers[14].inputs == std::vector<std::size_t>{13});
    CHECK(model.layers[20].inputs == std::vector<std::size_t>{13, 19});
    CHECK(model.layers[21].inputs == std::vector<std::size_t>{2, 20});
    CHECK(boost::num_edges(model.graph) == 24);
    CHECK(model.layers[0].tensors.front().name == "stage.first.conv.weight");
  }

  TEST_CASE("a block may end in a repetition whose length is a parameter, and keys that begin with x- are the user's") {
    const Model model = read(R"({
      "format": "model/1", "name": "m", "input": [4], "x-note": 1,
      "blocks": {"b": {"parameters": {"n": null}, "layers": [{"name": "l#", "repeat": [1, "$n"], "op": "linear", "out_features": 4}]}},
      "layers": [{"name": "a", "block": "b", "n": 3, "x-cost": "$5"}, {"name": "end", "op": "relu", "inputs": ["a"]}]})");
    CHECK(names(model) == std::vector<std::string>{"a.l1", "a.l2", "a.l3", "end"});
    CHECK(model.layers[3].inputs == std::vector<std::size_t>{2});
  }

  TEST_CASE("an error in a block names its place and the instance") {
    CHECK_THROWS_WITH_AS(read(R"({"format": "model/1", "name": "m", "input": [4, 8, 8],
                      "blocks": {"b": {"parameters": {"k": null}, "layers": [{"name": "c", "op": "conv2d", "out_channels": 4, "kernel": "$k"}]}},
                      "layers": [{"name": "x", "block": "b", "k": 3}, {"name": "y", "block": "b", "k": 0}]})"),
                         "model.json: /blocks/b/layers/0/kernel: expected an integer >= 1, got 0 (layer \"y.c\")", InputError);
  }
}
