#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace syncopate {

/// Bytes per element: 4 for "fp32" and "tf32", 2 for "fp16" and "bf16", 8 for "fp64"; nullopt for other names.
std::optional<double> element_bytes(std::string_view dtype);

/// The names that `element_bytes` knows.
std::vector<std::string> dtype_names();

}  // namespace syncopate
