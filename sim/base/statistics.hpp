#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace syncopate {

/// The value below which a `share` (0 to 1) of ascending values lies, between neighbours in proportion. `sorted` is not
/// empty; each value counts as `copies` equal ones.
template <class Value>
Value quantile(const std::vector<Value>& sorted, double share, std::size_t copies = 1) {
  const double place = share * static_cast<double>(sorted.size() * copies - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, sorted.size() * copies - 1);
  const Value low = sorted[below / copies];
  return low + (place - static_cast<double>(below)) * (sorted[above / copies] - low);
}

/// What a sample of at least one value says of what it was drawn from.
struct Sample {
  double mean = 0.0;
  double deviation = 0.0;    ///< standard, of the population as estimated; 0 of one value
  double correlation = 0.0;  ///< from one value to the next, -1 to 1; 0 where all are equal
};
Sample describe(std::span<const double> values);

/// Student's t: a mean of normal values is known to +- so many of its standard errors with 95% confidence.
double students_t(double degrees_of_freedom);

}  // namespace syncopate
