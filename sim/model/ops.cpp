#include "model/ops.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace syncopate {

namespace {

using Pair = std::array<std::int64_t, 2>;

constexpr std::int64_t largest_size = 1'000'000'000;
constexpr std::string_view image = "[channels, height, width]";
constexpr std::string_view sequence = "[tokens, width]";

std::string format_inputs(std::span<const Shape> inputs) {
  std::vector<std::string> shapes;
  for (const Shape& shape : inputs) shapes.push_back(fmt::format("[{}]", fmt::join(shape, ", ")));
  return fmt::format("{}", fmt::join(shapes, " and "));
}

const Shape& only_input(const Object& fields, std::span<const Shape> inputs) {
  if (inputs.size() != 1) fields.field().fail_because(fmt::format("this op takes one input, got {}", inputs.size()));
  return inputs.front();
}

/// The only input, which must have as many extents as `layout` shows.
const Shape& input_of(const Object& fields, std::span<const Shape> inputs, std::size_t extents, std::string_view layout) {
  const Shape& input = only_input(fields, inputs);
  if (input.size() != extents) {
    fields.field().fail_because(fmt::format("the input's shape must be {}, got {}", layout, format_inputs(inputs)));
  }
  return input;
}

std::int64_t integer_or(Object& fields, const std::string& key, std::int64_t fallback, std::int64_t min) {
  const auto field = fields.find(key);
  return field ? field->integer(min, largest_size) : fallback;
}

bool boolean_or(Object& fields, const std::string& key, bool fallback) {
  const auto field = fields.find(key);
  return field ? field->boolean() : fallback;
}

/// One number for both directions, or a list [height, width].
Pair read_pair(const Field& field, std::int64_t min) {
  if (!field.is_list()) return {field.integer(min, largest_size), field.integer(min, largest_size)};
  const std::vector<Field> values = field.list();
  if (values.size() != 2) field.fail("a number or a list [height, width]");
  return {values[0].integer(min, largest_size), values[1].integer(min, largest_size)};
}

Pair pair_or(Object& fields, const std::string& key, Pair fallback, std::int64_t min) {
  const auto field = fields.find(key);
  return field ? read_pair(*field, min) : fallback;
}

/// The number of windows along one direction. With `ceil` the last window may extend beyond the input if it begins inside the input or the
/// padding before it (PyTorch's rule).
std::int64_t windows(const Object& fields, std::int64_t input, std::int64_t kernel, std::int64_t stride, std::int64_t pad, bool ceil) {
  const std::int64_t room = input + 2 * pad - kernel;
  if (room < 0) {
    fields.field().fail_because(fmt::format("a window of {} does not fit into the input's {}{}; make the kernel smaller or pad more",
                                            kernel, input, pad > 0 ? fmt::format(" padded by {} on each side", pad) : std::string()));
  }
  const std::int64_t count = (ceil ? (room + stride - 1) / stride : room / stride) + 1;
  return ceil && (count - 1) * stride >= input + pad ? count - 1 : count;
}

Shape window_output(const Object& fields, const Attributes& window, const Shape& input, std::int64_t channels) {
  Shape output = {channels};
  for (const std::size_t i : {0U, 1U}) {
    output.push_back(windows(fields, input[i + 1], window.kernel[i], window.stride[i], window.pad[i], window.ceil));
  }
  return output;
}

void add_weight_and_bias(OpResult& result, Shape weight, std::int64_t bias) {
  result.tensors.push_back({"weight", std::move(weight)});
  if (result.attributes.bias) result.tensors.push_back({"bias", {bias}});
}

void read_window(Object& fields, Attributes& a) {
  a.kernel = read_pair(fields.at("kernel"), 1);
  a.stride = pair_or(fields, "stride", {1, 1}, 1);
  a.pad = pair_or(fields, "pad", {0, 0}, 0);
}

OpResult conv2d(Object& fields, std::span<const Shape> inputs) {
  OpResult result;
  Attributes& a = result.attributes;
  const std::int64_t channels = fields.at("out_channels").integer(1, largest_size);
  read_window(fields, a);
  const auto groups = fields.find("groups");
  a.groups = groups ? groups->integer(1, largest_size) : 1;
  a.bias = boolean_or(fields, "bias", true);
  const Shape& input = input_of(fields, inputs, 3, image);
  if (input[0] % a.groups != 0 || channels % a.groups != 0) {
    groups->fail(fmt::format("a divisor of the input's {} channels and of the {} out_channels", input[0], channels));
  }
  result.output = window_output(fields, a, input, channels);
  add_weight_and_bias(result, {channels, input[0] / a.groups, a.kernel[0], a.kernel[1]}, channels);
  result.macs = unchecked_elements(result.output) * unchecked_elements({input[0] / a.groups, a.kernel[0], a.kernel[1]});
  return result;
}

OpResult conv1d(Object& fields, std::span<const Shape> inputs) {
  OpResult result;
  Attributes& a = result.attributes;
  const std::int64_t channels = fields.at("out_channels").integer(1, largest_size);
  a.kernel = {1, fields.at("kernel").integer(1, largest_size)};
  a.stride = {1, integer_or(fields, "stride", 1, 1)};
  a.pad = {0, integer_or(fields, "pad", 0, 0)};
  a.bias = boolean_or(fields, "bias", true);
  const Shape& input = input_of(fields, inputs, 2, sequence);
  result.output = {windows(fields, input[0], a.kernel[1], a.stride[1], a.pad[1], false), channels};
  add_weight_and_bias(result, {channels, input[1], a.kernel[1]}, channels);
  result.macs = unchecked_elements(result.output) * unchecked_elements({input[1], a.kernel[1]});
  return result;
}

OpResult conv_transpose2d(Object& fields, std::span<const Shape> inputs) {
  OpResult result;
  Attributes& a = result.attributes;
  const std::int64_t channels = fields.at("out_channels").integer(1, largest_size);
  read_window(fields, a);
  a.bias = boolean_or(fields, "bias", true);
  const Shape& input = input_of(fields, inputs, 3, image);
  result.output = {channels};
  for (const std::size_t i : {0U, 1U}) {
    const std::int64_t extent = (input[i + 1] - 1) * a.stride[i] - 2 * a.pad[i] + a.kernel[i];
    if (extent < 1) fields.field().fail_because(fmt::format("padding leaves nothing of the input's {}; pad less", input[i + 1]));
    result.output.push_back(extent);
  }
  add_weight_and_bias(result, {input[0], channels, a.kernel[0], a.kernel[1]}, channels);
  result.macs = unchecked_elements(input) * unchecked_elements({channels, a.kernel[0], a.kernel[1]});
  return result;
}

OpResult linear(Object& fields, std::span<const Shape> inputs) {
  OpResult result;
  const std::int64_t features = fields.at("out_features").integer(1, largest_size);
  result.attributes.bias = boolean_or(fields, "bias", true);
  const Shape& input = only_input(fields, inputs);
  if (input.size() > 2) {
    fields.field().fail_because(
        fmt::format("the input's shape must be [n] or {}, got {}; put a flatten before it", sequence, format_inputs(inputs)));
  }
  result.output = input;
  result.output.back() = features;
  add_weight_and_bias(result, {features, input.back()}, features);
  result.macs = unchecked_elements(result.output) * static_cast<double>(input.back());
  return result;
}

OpResult tied_linear(Object& fields, std::span<const Shape> inputs) {
  OpResult result;
  const std::int64_t features = fields.at("out_features").integer(1, largest_size);
  const Shape& input = input_of(fields, inputs, 2, sequence);
  result.output = {input[0], features};
  result.macs = unchecked_elements(result.output) * static_cast<double>(input[1]);
  return result;
}

OpResult embedding(Object& fields, std::span<const Shape> inputs) {
  OpResult result;
  const std::int64_t entries = fields.at("entries").integer(1, largest_size);
  const std::int64_t width = fields.at("width").integer(1, largest_size);
  const Shape& input = input_of(fields, inputs, 1, "[tokens]");
  result.output = {input[0], width};
  result.tensors.push_back({"weight", {entries, width}});
  return result;
}

OpResult same_shape(Object& fields, std::span<const Shape> inputs) {
  OpResult result;
  result.output = only_input(fields, inputs);
  return result;
}

OpResult batch_norm(Object& fields, std::span<const Shape> inputs) {
  OpResult result;
  result.output = input_of(fields, inputs, 3, image);
  result.tensors = {{"weight", {result.output[0]}}, {"bias", {result.output[0]}}};
  return result;
}

OpResult rms_norm(Object& fields, std::span<const Shape> inputs) {
  OpResult result;
  result.output = only_input(fields, inputs);
  if (result.output.size() > 2) {
    fields.field().fail_because(
        fmt::format("the input's shape must be [n] or {}, got {}; put a to_tokens before it", sequence, format_inputs(inputs)));
  }
  result.tensors = {{"weight", {result.output.back()}}};
  return result;
}

OpResult layer_norm(Object& fields, std::span<const Shape> inputs) {
  OpResult result = rms_norm(fields, inputs);
  result.tensors.push_back({"bias", {result.output.back()}});
  return result;
}

OpResult group_norm(Object& fields, std::span<const Shape> inputs) {
  const Field groups = fields.at("groups");
  OpResult result = batch_norm(fields, inputs);
  result.attributes.groups = groups.integer(1, largest_size);
  if (result.output[0] % result.attributes.groups != 0) groups.fail(fmt::format("a divisor of the input's {} channels", result.output[0]));
  return result;
}

OpResult lrn(Object& fields, std::span<const Shape> inputs) {
  OpResult result;
  result.output = input_of(fields, inputs, 3, image);
  return result;
}

OpResult pool(Object& fields, std::span<const Shape> inputs) {
  OpResult result;
  Attributes& a = result.attributes;
  a.kernel = read_pair(fields.at("kernel"), 1);
  a.stride = pair_or(fields, "stride", a.kernel, 1);
  const auto pad = fields.find("pad");
  a.pad = pad ? read_pair(*pad, 0) : Pair{0, 0};
  if (a.pad[0] > a.kernel[0] / 2 || a.pad[1] > a.kernel[1] / 2) pad->fail("at most half of the kernel");
  a.ceil = boolean_or(fields, "ceil", false);
  const Shape& input = input_of(fields, inputs, 3, image);
  result.output = window_output(fields, a, input, input[0]);
  return result;
}

OpResult adaptive_avg_pool(Object& fields, std::span<const Shape> inputs) {
  OpResult result;
  const Pair output = read_pair(fields.at("output"), 1);
  const Shape& input = input_of(fields, inputs, 3, image);
  result.output = {input[0], output[0], output[1]};
  return result;
}

OpResult flatten(Object& fields, std::span<const Shape> inputs) {
  OpResult result;
  result.output = {elements(only_input(fields, inputs))};
  return result;
}

void require_several(const Object& fields, std::span<const Shape> inputs) {
  if (inputs.size() < 2) fields.field().fail_because(fmt::format("this op takes two inputs or more, got {}", inputs.size()));
}

OpResult add(Object& fields, std::span<const Shape> inputs) {
  require_several(fields, inputs);
  for (const Shape& shape : inputs) {
    if (shape != inputs.front())
      fields.field().fail_because(fmt::format("the inputs' shapes must be equal, got {}", format_inputs(inputs)));
  }
  OpResult result;
  result.output = inputs.front();
  return result;
}

OpResult concat(Object& fields, std::span<const Shape> inputs) {
  require_several(fields, inputs);
  OpResult result;
  result.output = inputs.front();
  const std::size_t axis = result.output.size() == 3 ? 0 : result.output.size() - 1;
  result.output[axis] = 0;
  for (const Shape& shape : inputs) {
    Shape others = shape;
    if (others.size() == result.output.size()) others[axis] = result.output[axis];
    if (others != result.output) {
      fields.field().fail_because(fmt::format("the inputs' shapes must be equal but for their {}, got {}",
                                              result.output.size() == 3 ? "channels" : "width", format_inputs(inputs)));
    }
    result.output[axis] += shape[axis];
  }
  return result;
}

/// The number of heads, which must divide the width.
std::int64_t read_heads(const Field& heads, std::int64_t width) {
  const std::int64_t count = heads.integer(1, largest_size);
  if (width % count != 0) heads.fail(fmt::format("a divisor of the width {}", width));
  return count;
}

OpResult attention(Object& fields, std::span<const Shape> inputs) {
  const Field heads = fields.at("heads");
  OpResult result;
  result.attributes.causal = boolean_or(fields, "causal", false);
  const bool fused = inputs.size() == 1 && inputs[0].size() == 2 && inputs[0][1] % 3 == 0;
  const bool equal = inputs.size() == 3 && inputs[0] == inputs[1] && inputs[1] == inputs[2] && inputs[0].size() == 2;
  if (!fused && !equal) {
    fields.field().fail_because(fmt::format("attention takes query, key and value of one shape {}, or the three side by side, got {}",
                                            sequence, format_inputs(inputs)));
  }
  result.output = inputs.front();
  if (fused) result.output[1] /= 3;
  result.attributes.heads = read_heads(heads, result.output[1]);
  // Scores, then the weighted sum of values: each multiplies every token with all tokens, or (causal) with itself and those before it.
  const auto tokens = static_cast<double>(result.output[0]);
  const double pairs = result.attributes.causal ? tokens * (tokens + 1) / 2 : tokens * tokens;
  result.macs = 2.0 * pairs * static_cast<double>(result.output[1]);
  return result;
}

OpResult rotary(Object& fields, std::span<const Shape> inputs) {
  const Field heads = fields.at("heads");
  OpResult result;
  result.output = input_of(fields, inputs, 2, sequence);
  result.attributes.heads = read_heads(heads, result.output[1]);
  if (result.output[1] / result.attributes.heads % 2 != 0) {
    heads.fail(fmt::format("a divisor of the width {} that gives each head an even width", result.output[1]));
  }
  return result;
}

/// As add, but an input [channels, 1, 1] is broadcast to all pixels.
OpResult multiply(Object& fields, std::span<const Shape> inputs) {
  require_several(fields, inputs);
  OpResult result;
  result.output = *std::max_element(inputs.begin(), inputs.end(),
                                    [](const Shape& a, const Shape& b) { return unchecked_elements(a) < unchecked_elements(b); });
  for (const Shape& shape : inputs) {
    const bool per_channel = shape.size() == 3 && shape == Shape{result.output[0], 1, 1};
    if (shape == result.output || per_channel) continue;
    fields.field().fail_because(
        fmt::format("the inputs' shapes must be equal, or [channels, 1, 1] for a factor per channel, got {}", format_inputs(inputs)));
  }
  return result;
}

OpResult upsample(Object& fields, std::span<const Shape> inputs) {
  OpResult result;
  const std::int64_t scale = fields.at("scale").integer(1, 1024);
  const Shape& input = input_of(fields, inputs, 3, image);
  result.output = {input[0], scale * input[1], scale * input[2]};
  return result;
}

OpResult to_tokens(Object& fields, std::span<const Shape> inputs) {
  OpResult result;
  const Shape& input = input_of(fields, inputs, 3, image);
  result.output = {input[1] * input[2], input[0]};
  return result;
}

OpResult positional(Object& fields, std::span<const Shape> inputs) {
  OpResult result;
  result.output = input_of(fields, inputs, 2, sequence);
  result.tensors = {{"weight", result.output}};
  return result;
}

OpResult drop_tokens(Object& fields, std::span<const Shape> inputs) {
  OpResult result;
  result.output = {input_of(fields, inputs, 2, sequence)[1]};
  return result;
}

OpResult pad_shortcut(Object& fields, std::span<const Shape> inputs) {
  OpResult result;
  const Field channels = fields.at("out_channels");
  result.attributes.stride = pair_or(fields, "stride", {1, 1}, 1);
  const Shape& input = input_of(fields, inputs, 3, image);
  result.output = window_output(fields, result.attributes, input, channels.integer(1, largest_size));
  if (result.output[0] < input[0]) channels.fail(fmt::format("at least the input's {} channels", input[0]));
  return result;
}

constexpr std::array table = {
    Op{"conv2d", "convolution over an image", "out_channels, kernel, stride (1), pad (0), groups (1), bias (true)", CostClass::convolution,
       conv2d},
    Op{"conv1d", "temporal convolution over tokens", "out_channels, kernel, stride (1), pad (0), bias (true)", CostClass::convolution,
       conv1d},
    Op{"conv_transpose2d", "transposed convolution, which enlarges an image", "out_channels, kernel, stride (1), pad (0), bias (true)",
       CostClass::convolution, conv_transpose2d},
    Op{"linear", "fully connected, of each token", "out_features, bias (true)", CostClass::linear, linear},
    Op{"tied_linear", "linear without bias, of each token, with the weight of an embedding before it", "out_features", CostClass::linear,
       tied_linear},
    Op{"embedding", "a vector per token", "entries, width", CostClass::embedding, embedding},
    Op{"attention", "softmax(Q K^T) V of three inputs, without projections", "heads, causal (false)", CostClass::attention, attention},
    Op{"batch_norm", "over the batch, per channel", "", CostClass::normalization, batch_norm},
    Op{"layer_norm", "over a token's width", "", CostClass::normalization, layer_norm},
    Op{"rms_norm", "layer_norm without mean and bias", "", CostClass::normalization, rms_norm},
    Op{"lrn", "local response normalization", "", CostClass::normalization, lrn},
    Op{"group_norm", "over groups of an image's channels", "groups", CostClass::normalization, group_norm},
    Op{"relu", "max(x, 0)", "", CostClass::elementwise, same_shape},
    Op{"tanh", "hyperbolic tangent", "", CostClass::elementwise, same_shape},
    Op{"gelu", "Gaussian error linear unit", "", CostClass::elementwise, same_shape},
    Op{"silu", "x times its sigmoid; also stands for hardswish", "", CostClass::elementwise, same_shape},
    Op{"sigmoid", "logistic function", "", CostClass::elementwise, same_shape},
    Op{"dropout", "zeros at random", "", CostClass::elementwise, same_shape},
    Op{"max_pool", "largest_size of a window", "kernel, stride (kernel), pad (0), ceil (false)", CostClass::pooling, pool},
    Op{"avg_pool", "mean of a window", "kernel, stride (kernel), pad (0), ceil (false)", CostClass::pooling, pool},
    Op{"adaptive_avg_pool", "means that make an image of a given size", "output", CostClass::pooling, adaptive_avg_pool},
    Op{"max_over_time", "largest_size over all tokens, of each feature", "", CostClass::pooling, drop_tokens},
    Op{"upsample", "every pixel several times", "scale", CostClass::elementwise, upsample},
    Op{"to_tokens", "an image's pixels as tokens", "", CostClass::free, to_tokens},
    Op{"positional", "adds a trained vector to each token", "", CostClass::elementwise, positional},
    Op{"rotary", "rotates pairs of a head's numbers by the token's place", "heads", CostClass::elementwise, rotary},
    Op{"first_token", "the first token's vector", "", CostClass::free, drop_tokens},
    Op{"flatten", "to one dimension", "", CostClass::free, flatten},
    Op{"add", "sum of inputs of one shape", "", CostClass::join, add},
    Op{"multiply", "product of inputs of one shape, or a factor per channel", "", CostClass::join, multiply},
    Op{"concat", "inputs side by side, along channels or width", "", CostClass::join, concat},
    Op{"pad_shortcut", "every stride-th pixel, more channels of zeros (ResNet's option A)", "out_channels, stride (1)",
       CostClass::elementwise, pad_shortcut},
};

constexpr std::array class_table = {
    CostClassRow{CostClass::convolution, "convolution", std::nullopt},
    CostClassRow{CostClass::convolution_3x3, "convolution_3x3", CostClass::convolution},
    CostClassRow{CostClass::depthwise, "depthwise", CostClass::elementwise},
    CostClassRow{CostClass::linear, "linear", std::nullopt},
    CostClassRow{CostClass::attention, "attention", CostClass::linear},
    CostClassRow{CostClass::normalization, "normalization", std::nullopt},
    CostClassRow{CostClass::pooling, "pooling", std::nullopt},
    CostClassRow{CostClass::elementwise, "elementwise", std::nullopt},
    CostClassRow{CostClass::join, "join", CostClass::elementwise},
    CostClassRow{CostClass::embedding, "embedding", std::nullopt},
    CostClassRow{CostClass::free, "free", std::nullopt},
};

}  // namespace

std::span<const Op> ops() { return table; }

std::span<const CostClassRow> cost_classes() { return class_table; }

std::string_view name_of(CostClass cost_class) {
  return std::find_if(class_table.begin(), class_table.end(), [&](const CostClassRow& row) { return row.cost_class == cost_class; })->name;
}

}  // namespace syncopate
