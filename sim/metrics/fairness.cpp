#include "metrics/fairness.hpp"

#include <algorithm>
#include <numeric>

namespace syncopate {

double jain_index(std::span<const double> shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  const double squares = std::inner_product(shares.begin(), shares.end(), shares.begin(), 0.0);
  return std::min(1.0, sum * sum / (static_cast<double>(shares.size()) * squares));  // but for a rounding error
}

}  // namespace syncopate
