#include "output/standing.hpp"

#include <cmath>
#include <limits>

#include "metrics/confidence.hpp"

namespace syncopate {

namespace {

constexpr double practically_equal = 0.005;  ///< a relative difference on which no choice should rest

/// Half of the 95% interval of the mean difference. Replicates are paired: one of them meets the same seed in every row.
Seconds half_width_of_difference(const Row& a, const Row& b) {
  if (a.is_unsure() || b.is_unsure()) return Seconds(std::numeric_limits<double>::infinity());
  const std::size_t count = a.replicates.size();
  if (count < 2 || b.replicates.size() != count) {
    return Seconds(std::hypot(a.half_width() * a.metrics.iteration.value, b.half_width() * b.metrics.iteration.value));
  }
  std::vector<double> differences;
  differences.reserve(count);
  for (std::size_t i = 0; i < count; ++i) differences.push_back((a.replicates[i] - b.replicates[i]).value);
  return Seconds(half_width(differences));
}

}  // namespace

Standing standing(const Row& row, const Row& fastest) {
  const Seconds difference = row.metrics.iteration - fastest.metrics.iteration;
  if (difference <= practically_equal * fastest.metrics.iteration) return Standing::equal;
  return difference <= half_width_of_difference(row, fastest) ? Standing::undecided : Standing::slower;
}

}  // namespace syncopate
