#include "model/shape.hpp"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <numeric>

#include "base/errors.hpp"

namespace syncopate {

std::int64_t elements(const Shape& shape) { return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()); }

double unchecked_elements(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), 1.0,
                         [](double product, std::int64_t extent) { return product * static_cast<double>(extent); });
}

std::string format_shape(const Shape& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

Shape parse_shape(std::string_view text, std::string_view option) {
  constexpr std::int64_t most = 1'000'000;
  Shape shape;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    const auto [next, error] = std::from_chars(at, end, shape.emplace_back());
    if (error != std::errc() || shape.back() < 1 || shape.back() > most || (next != end && *next != 'x'))
      throw UsageError(fmt::format("{} {}: expected extents of 1 to 1000000, such as 3x224x224", option, text));
    if (next == end) return shape;
    at = next + 1;
  }
}

}  // namespace syncopate
