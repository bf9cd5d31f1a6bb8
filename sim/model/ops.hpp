#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.hpp"
#include "model/shape.hpp"

namespace syncopate {

/// A trainable parameter tensor.
struct Tensor {
  std::string name;  ///< the layer's name, then ".weight" or ".bias"
  Shape shape;       ///< in PyTorch's order: [out, in/groups, kernel height, kernel width], [out, in], ...
};

/// Parameters of a layer beyond its op and inputs. Each op sets those that it has.
struct Attributes {
  std::array<std::int64_t, 2> kernel = {1, 1};  ///< height, width; conv1d: {1, window}
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<std::int64_t, 2> pad = {0, 0};  ///< on each side
  std::int64_t groups = 1;
  std::int64_t heads = 1;
  bool bias = false;
  bool causal = false;  ///< a token only attends to itself and earlier tokens
  bool ceil = false;    ///< a pooling window may begin inside the input and end outside
};

/// Layers with one cost model: a device profile has one line of coefficients per class.
///
/// convolution_3x3: stride 1 and one group. Libraries use Winograd's algorithm for them, which needs fewer multiplications. depthwise: one
/// group per channel; limited by memory, not by arithmetic.
enum class CostClass {
  convolution,
  convolution_3x3,
  depthwise,
  linear,
  attention,
  normalization,
  pooling,
  elementwise,
  join,
  embedding,
  free
};

/// One row of the table of cost classes.
struct CostClassRow {
  CostClass cost_class;
  std::string_view name;
  std::optional<CostClass> resembles;  ///< the class that replaces it in a profile without a line for it
};

/// The table. It includes `free`, for which profiles have no line.
std::span<const CostClassRow> cost_classes();

std::string_view name_of(CostClass cost_class);

/// What an op makes of its inputs, for one sample.
struct OpResult {
  Attributes attributes;
  Shape output;
  std::vector<Tensor> tensors;  ///< names without the layer's name: "weight", "bias"
  double macs = 0;              ///< multiply-accumulates of forward
};

/// One row of the table of ops.
struct Op {
  std::string_view name;
  std::string_view meaning;
  std::string_view attributes;
  CostClass cost_class;
  /// Reads the op's attributes from the layer's fields and computes its output. Throws InputError, also if the inputs' shapes do not fit.
  OpResult (*apply)(Object& fields, std::span<const Shape> inputs);
};

/// The table. To add an op, add a row.
std::span<const Op> ops();

}  // namespace syncopate
