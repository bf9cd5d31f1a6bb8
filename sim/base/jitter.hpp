#pragma once

#include <array>
#include <vector>

#include "base/fields.hpp"

namespace syncopate {

/// How something varies from time to time: a factor of mean 1.
struct Jitter {
  enum class Distribution { none, lognormal, uniform, exponential, empirical };
  Distribution distribution = Distribution::none;
  double cv = 0.0;  ///< standard deviation over mean; for `uniform` below 1/sqrt(3), so that factors stay positive; for `exponential`,
                    ///< which is shifted to a mean of 1, at most 1
  std::vector<double> factors{};  ///< `empirical`: equally likely, scaled to a mean of 1

  /// Not all factors are 1.
  bool varies() const;
  /// The factor for two independent numbers that are uniform in (0, 1).
  double factor(const std::array<double, 2>& uniform) const;
};

/// A lognormal factor of mean 1.
double lognormal(double cv, const std::array<double, 2>& uniform);

/// Reads `{"distribution", "cv"}`, or "factors" of an empirical one. Throws InputError.
Jitter read_jitter(const Field& field);

}  // namespace syncopate
