#pragma once

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

}  // namespace syncopate
