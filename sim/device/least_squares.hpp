#pragma once

#include <array>
#include <vector>

namespace syncopate {

/// The terms of a sum, or their coefficients.
using Terms = std::array<double, 4>;

/// x >= 0 that minimises the sum of (terms * x - y)^2 over the rows of terms; of equally good ones, that with the fewest and first terms.
/// A term that is 0 in all rows has the coefficient 0.
Terms non_negative_least_squares(const std::vector<Terms>& rows, const std::vector<double>& y);

}  // namespace syncopate
