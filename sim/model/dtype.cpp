#include "model/dtype.hpp"

#include <array>
#include <utility>

namespace syncopate {

namespace {

constexpr std::array dtypes = {std::pair{"fp32", 4.0}, std::pair{"tf32", 4.0}, std::pair{"fp16", 2.0}, std::pair{"bf16", 2.0},
                               std::pair{"fp64", 8.0}};

}  // namespace

std::optional<double> element_bytes(std::string_view dtype) {
  for (const auto& [name, bytes] : dtypes) {
    if (name == dtype) return bytes;
  }
  return std::nullopt;
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  names.reserve(dtypes.size());
  for (const auto& [name, bytes] : dtypes) names.emplace_back(name);
  return names;
}

}  // namespace syncopate
