#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace syncopate {

/// The quantile `share` (0 to 1) of ascending values, interpolated linearly between neighbours. `sorted` must not be empty. Each value
/// counts `copies` times.
template <class Value>
Value quantile(const std::vector<Value>& sorted, double share, std::size_t copies = 1) {
  const double place = share * static_cast<double>(sorted.size() * copies - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, sorted.size() * copies - 1);
  const Value low = sorted[below / copies];
  return low + (place - static_cast<double>(below)) * (sorted[above / copies] - low);
}

}  // namespace syncopate
