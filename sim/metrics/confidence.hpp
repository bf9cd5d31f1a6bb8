#pragma once

#include <optional>
#include <span>

namespace syncopate {

/// What a sample of at least one value says of what it was drawn from.
struct Sample {
  double mean = 0.0;
  double deviation = 0.0;    ///< standard, of the population as estimated; 0 of one value
  double correlation = 0.0;  ///< from one value to the next, -1 to 1; 0 where all are equal
};
Sample describe(std::span<const double> values);

/// Student's t: a mean of normal values is known to +- so many of its standard errors with 95% confidence.
double students_t(double degrees_of_freedom);

/// Half of the 95% interval of the mean of at least two independent values, in their unit.
double half_width(std::span<const double> values);

/// How many values would shrink that from `half_width`, which `count` of them have, to `wanted`; empty where more than `most` would be
/// needed. `count` is at least 2.
std::optional<int> values_needed(double half_width, int count, double wanted, int most);

}  // namespace syncopate
