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
  Shape shape;       ///< as PyTorch has it: [out, in/groups, kernel height, kernel width], [out, in], ...
};

/// What a layer's description says beyond its op and inputs; an op fills what it has.
struct Attributes {
  std::array<std::int64_t, 2> kernel = {1, 1};  ///< height, width; of conv1d {1, window}
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<std::int64_t, 2> pad = {0, 0};  ///< on each side
  std::int64_t groups = 1;
  std::int64_t heads = 1;
  bool bias = false;
  bool causal = false;  ///< a token attends to itself and those before it
  bool ceil = false;    ///< a pooling window may begin inside the input and end beyond it
};

/// Layers that cost time in the same way: a device profile has one line of coefficients for each. convolution_3x3 are those
/// of stride 1 and one group, which libraries compute by Winograd's algorithm with fewer multiplications than the others;
/// depthwise ones have a group per channel, and memory limits them rather than arithmetic.
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
  std::optional<CostClass> resembles;  ///< what it costs in a profile that has no line for it
};

/// The table, with `free`, which no profile has a line for.
std::span<const CostClassRow> cost_classes();

std::string_view name_of(CostClass cost_class);

/// One layer for one sample.
struct OpResult {
  Attributes attributes;
  Shape output;
  std::vector<Tensor> tensors;  ///< names without the layer's: "weight", "bias"
  double macs = 0;              ///< multiply-accumulates of forward
};

/// One row of the table of ops.
struct Op {
  std::string_view name;
  std::string_view meaning;
  std::string_view attributes;
  CostClass cost_class;
  /// Reads the op's attributes from the layer's fields and computes what it makes of its inputs. Throws InputError, also
  /// for shapes that do not fit.
  OpResult (*apply)(Object& fields, std::span<const Shape> inputs);
};

/// The table: to add an op, add a row.
std::span<const Op> ops();

}  // namespace syncopate
