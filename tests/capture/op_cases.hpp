#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

/// An op as the last layer, behind trainable layers that make its inputs.
struct OpCase {
  std::string op;
  std::string input;   ///< of the model
  std::string layers;  ///< of the model, as model/1 has them
};

/// Every op that a device has, in all that makes a difference to it. Widths are multiples of 8, which 16-bit products want.
inline std::vector<OpCase> op_cases() {
  const std::string conv = R"({"name": "a", "op": "conv2d", "out_channels": 8, "kernel": 1, "inputs": ["$input"]},)";
  const std::string narrow = R"({"name": "b", "op": "conv2d", "out_channels": 16, "kernel": 1, "inputs": ["$input"]},)";
  const std::string linear = R"({"name": "a", "op": "linear", "out_features": 16, "inputs": ["$input"]},)";
  const std::string second = R"({"name": "b", "op": "linear", "out_features": 16, "inputs": ["$input"]},)";
  const std::string third = R"({"name": "c", "op": "linear", "out_features": 16, "inputs": ["$input"]},)";
  const std::string joint = R"({"name": "a", "op": "linear", "out_features": 48, "inputs": ["$input"]},)";

  const std::string uneven = R"({"name": "a", "op": "linear", "out_features": 6, "inputs": ["$input"]},)";
  const std::string odd = R"({"name": "a", "op": "conv2d", "out_channels": 6, "kernel": 1, "inputs": ["$input"]},)";
  const std::string pixel = R"({"name": "p", "op": "adaptive_avg_pool", "output": 1, "inputs": ["$input"]},)";
  const std::string factor = pixel + R"({"name": "f", "op": "conv2d", "out_channels": 8, "kernel": 1},)";
  const std::string odd_factor = pixel + R"({"name": "f", "op": "conv2d", "out_channels": 6, "kernel": 1},)";
  const std::string table = R"({"name": "a", "op": "embedding", "entries": 16, "width": 8},)";

  const auto last = [](const std::string& attributes) { return R"({"name": "under test", "op": )" + attributes + "}"; };

  return {
      {"conv2d", "[3, 5, 6]", conv + last(R"("conv2d", "out_channels": 16, "kernel": [3, 2], "stride": [2, 1], "pad": 1)")},
      {"conv2d", "[3, 5, 5]", conv + last(R"("conv2d", "out_channels": 16, "kernel": 3, "groups": 2, "bias": false)")},
      {"conv1d", "[7, 3]", linear + last(R"("conv1d", "out_channels": 8, "kernel": 3, "stride": 2, "pad": 1)")},
      {"linear", "[5]", linear + last(R"("linear", "out_features": 4)")},
      {"linear", "[3, 5]", linear + last(R"("linear", "out_features": 4, "bias": false)")},
      {"batch_norm", "[2, 5, 3]", conv + last(R"("batch_norm")")},
      {"layer_norm", "[3, 5]", linear + last(R"("layer_norm")")},
      {"lrn", "[2, 3, 3]", conv + last(R"("lrn")")},
      {"relu", "[2, 3, 3]", conv + last(R"("relu")")},
      {"tanh", "[3, 5]", linear + last(R"("tanh")")},
      {"gelu", "[3, 5]", linear + last(R"("gelu")")},
      {"silu", "[3, 5]", linear + last(R"("silu")")},
      {"sigmoid", "[3, 5]", linear + last(R"("sigmoid")")},
      {"dropout", "[3, 5]", linear + last(R"("dropout")")},
      {"max_pool", "[2, 6, 6]", conv + last(R"("max_pool", "kernel": 3, "stride": 2, "pad": 1, "ceil": true)")},
      {"max_pool", "[2, 7, 6]", conv + last(R"("max_pool", "kernel": [2, 3], "stride": 1)")},
      {"avg_pool", "[2, 6, 6]", conv + last(R"("avg_pool", "kernel": 3, "stride": 2, "pad": 1, "ceil": true)")},
      {"adaptive_avg_pool", "[2, 6, 4]", conv + last(R"("adaptive_avg_pool", "output": 2)")},
      {"adaptive_avg_pool", "[2, 7, 5]", conv + last(R"("adaptive_avg_pool", "output": [3, 2])")},
      {"max_over_time", "[4, 5]", linear + last(R"("max_over_time")")},
      {"flatten", "[2, 3, 3]", conv + last(R"("flatten")")},
      {"flatten", "[2, 1, 1]", conv + last(R"("flatten")")},
      {"first_token", "[4, 5]", linear + last(R"("first_token")")},
      {"add", "[3, 5]", linear + second + third + last(R"("add", "inputs": ["a", "b", "c"])")},
      {"add", "[5]", linear + second + last(R"("add", "inputs": ["a", "b", "a", "a", "b", "a", "a", "b", "a", "a", "b"])")},
      {"concat", "[2, 3, 3]", conv + narrow + last(R"("concat", "inputs": ["b", "a"])")},
      {"concat", "[3, 5]", linear + second + last(R"("concat", "inputs": ["b", "a"])")},
      {"pad_shortcut", "[2, 5, 5]", conv + last(R"("pad_shortcut", "out_channels": 13, "stride": 2)")},
      {"attention", "[8, 5]", linear + second + third + last(R"("attention", "heads": 2, "inputs": ["a", "b", "c"])")},
      {"attention", "[8, 5]", linear + second + third + last(R"("attention", "heads": 2, "causal": true, "inputs": ["a", "b", "c"])")},
      {"attention", "[8, 5]", joint + last(R"("attention", "heads": 2)")},
      {"attention", "[24, 5]", joint + last(R"("attention", "heads": 1, "causal": true)")},
      {"embedding", "[4]", last(R"("embedding", "entries": 5, "width": 3)")},
      {"conv_transpose2d", "[3, 3, 4]",
       conv + last(R"("conv_transpose2d", "out_channels": 16, "kernel": [3, 2], "stride": [2, 1], "pad": 1)")},
      {"conv_transpose2d", "[3, 3, 2]", conv + last(R"("conv_transpose2d", "out_channels": 8, "kernel": 2, "stride": 2, "bias": false)")},
      {"group_norm", "[2, 5, 3]", conv + last(R"("group_norm", "groups": 4)")},
      {"group_norm", "[2, 2, 6]", conv + last(R"("group_norm", "groups": 1)")},
      {"group_norm", "[2, 3, 2]", odd + last(R"("group_norm", "groups": 2)")},
      {"rms_norm", "[3, 5]", linear + last(R"("rms_norm")")},
      {"rms_norm", "[3, 5]", uneven + last(R"("rms_norm")")},
      {"upsample", "[2, 3, 2]", conv + last(R"("upsample", "scale": 2)")},
      {"upsample", "[2, 2, 3]", odd + last(R"("upsample", "scale": 3)")},
      {"upsample", "[2, 2, 3]", odd + last(R"("upsample", "scale": 4)")},
      {"to_tokens", "[2, 5, 3]", conv + last(R"("to_tokens")")},
      {"positional", "[3, 5]", linear + last(R"("positional")")},
      {"positional", "[3, 5]", uneven + last(R"("positional")")},
      {"rotary", "[5, 3]", linear + last(R"("rotary", "heads": 2)")},
      {"rotary", "[5, 3]", uneven + last(R"("rotary", "heads": 1)")},
      {"multiply", "[3, 5]", linear + second + third + last(R"("multiply", "inputs": ["a", "b", "c"])")},
      {"multiply", "[3, 5]", uneven + last(R"("multiply", "inputs": ["a", "a"])")},
      {"multiply", "[2, 2, 4]", conv + factor + last(R"("multiply", "inputs": ["f", "a"])")},
      {"multiply", "[2, 3, 3]", odd + odd_factor + last(R"("multiply", "inputs": ["a", "f", "a"])")},
      {"multiply", "[2, 3, 3]", odd + odd_factor + last(R"("multiply", "inputs": ["a", "f", "f", "a", "f", "a", "f", "f", "a", "f"])")},
      {"tied_linear", "[4]", table + last(R"("tied_linear", "out_features": 16)")},
  };
}

/// Attention in the shapes of real networks: ViT's tokens, with and without its class, heads of 64 and 128 numbers.
inline std::vector<OpCase> wide_attention() {
  const auto linear = [](const std::string& name, int width) {
    return fmt::format(R"({{"name": "{}", "op": "linear", "out_features": {}, "inputs": ["$input"]}},)", name, width);
  };
  const auto apart = [&](int width) { return linear("a", width) + linear("b", width) + linear("c", width); };
  const std::string of_three = R"({"name": "under test", "op": "attention", "heads": 2, "inputs": ["a", "b", "c"]})";
  const std::string causal_of_three = R"({"name": "under test", "op": "attention", "heads": 2, "causal": true, "inputs": ["a", "b", "c"]})";
  const std::string of_one = R"({"name": "under test", "op": "attention", "heads": 2})";
  const std::string causal_of_one = R"({"name": "under test", "op": "attention", "heads": 2, "causal": true})";
  return {
      {"attention", "[128, 5]", apart(128) + of_three},     {"attention", "[196, 5]", apart(256) + causal_of_three},
      {"attention", "[197, 5]", apart(128) + of_three},     {"attention", "[196, 5]", linear("a", 384) + of_one},
      {"attention", "[197, 5]", linear("a", 768) + of_one}, {"attention", "[197, 5]", linear("a", 384) + causal_of_one},
  };
}
