#pragma once

#include <span>

namespace syncopate {

/// Jain's index of how equal shares are: (sum x)^2 / (n sum x^2), 1 where all are equal, 1/n where one has everything. R. Jain, D. Chiu
/// and W. Hawe, "A quantitative measure of fairness and discrimination for resource allocation in shared computer systems", DEC-TR-301,
/// 1984. `shares`: at least one, above 0.
double jain_index(std::span<const double> shares);

}  // namespace syncopate
