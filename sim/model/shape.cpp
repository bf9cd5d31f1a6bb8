#include "model/shape.hpp"

#include <fmt/format.h>

#include <functional>
#include <numeric>

namespace syncopate {

std::int64_t elements(const Shape& shape) { return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()); }

double unchecked_elements(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), 1.0,
                         [](double product, std::int64_t extent) { return product * static_cast<double>(extent); });
}

std::string format_shape(const Shape& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

}  // namespace syncopate
