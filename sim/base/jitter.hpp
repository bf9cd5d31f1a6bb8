#pragma once

#include <array>
#include <vector>

#include "base/fields.hpp"

namespace syncopate {

/// A random factor of mean 1.
struct Jitter {
  enum class Distribution { none, lognormal, uniform, exponential, empirical };
  Distribution distribution = Distribution::none;
  /// Standard deviation over mean. `uniform`: below 1/sqrt(3), so that factors stay positive. `exponential` (shifted to a mean of 1): at
  /// most 1.
  double cv = 0.0;
  std::vector<double> factors{};  ///< `empirical`: equally likely, scaled to a mean of 1

  /// False when every factor is 1.
  bool varies() const;
  /// The factor for two independent numbers, uniform in (0, 1).
  double factor(const std::array<double, 2>& uniform) const;
};

/// A lognormal factor of mean 1.
double lognormal(double cv, const std::array<double, 2>& uniform);

/// Reads `{"distribution", "cv"}`; "empirical" has "factors" in place of "cv". Throws InputError.
Jitter read_jitter(const Field& field);

}  // namespace syncopate
