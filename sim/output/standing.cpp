#include "output/standing.hpp"

#include <cmath>

#include "metrics/confidence.hpp"

namespace syncopate {

namespace {

constexpr double practically_equal = 0.005;  ///< a relative difference on which no choice should rest

/// Whether the 95% interval of how much slower `row` is contains nothing; also where the windows meet other events. Replicates are paired:
/// one of them meets the same seed in every row. Else the ratio is judged, on a logarithmic scale, on which an interval wider than its mean
/// does not reach below 0.
bool may_be_equal(const Row& row, const Row& fastest) {
  if (row.is_unsure() || fastest.is_unsure() || row.missed_events() != fastest.missed_events()) return true;
  const std::size_t count = row.replicates.size();
  if (count < 2 || fastest.replicates.size() != count)
    return std::log(row.metrics.iteration / fastest.metrics.iteration) <= std::hypot(row.half_width(), fastest.half_width());
  std::vector<double> differences;
  differences.reserve(count);
  for (std::size_t i = 0; i < count; ++i) differences.push_back((row.replicates[i] - fastest.replicates[i]).value);
  return row.metrics.iteration - fastest.metrics.iteration <= Seconds(half_width(differences));
}

}  // namespace

Standing standing(const Row& row, const Row& fastest) {
  const Seconds difference = row.metrics.iteration - fastest.metrics.iteration;
  if (difference <= practically_equal * fastest.metrics.iteration) return Standing::equal;
  return may_be_equal(row, fastest) ? Standing::undecided : Standing::slower;
}

}  // namespace syncopate
