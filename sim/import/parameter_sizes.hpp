#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/shape.hpp"

namespace syncopate {

/// One parameter of a model that has a gradient.
struct Parameter {
  std::string name;    ///< "layer1.0.conv1.weight"
  std::string module;  ///< "layer1.0.conv1"; empty if the name has no dot
  Shape shape;
  std::string dtype;  ///< "fp32", ...
};

/// Reads the parameters of a model, in the order of declaration, from
/// - a model/1 file, as fp32, or
/// - a text with a line for each: the name, the shape ("64x3x7x7" or "(64, 3, 7, 7)"; "()" has one element), and the type or nothing
///   ("torch.float16"; else fp32). Empty lines and lines that begin with # are skipped.
/// Throws InputError with file and line.
std::vector<Parameter> read_parameter_sizes(const std::filesystem::path& path);

}  // namespace syncopate
