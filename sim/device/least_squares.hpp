#pragma once

#include <array>
#include <vector>

namespace syncopate {

/// Terms of a sum, or their coefficients.
using Terms = std::array<double, 4>;

/// The x >= 0 that minimises the sum over rows of (row · x - y)^2. Among equal minima: the one with the fewest, then the first terms. A
/// term that is 0 in all rows gets the coefficient 0.
Terms non_negative_least_squares(const std::vector<Terms>& rows, const std::vector<double>& y);

}  // namespace syncopate
