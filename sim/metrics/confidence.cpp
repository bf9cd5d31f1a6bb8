#include "metrics/confidence.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

namespace syncopate {

Sample describe(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0.0;
  double neighbours = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares += (values[i] - mean) * (values[i] - mean);
    if (i > 0) neighbours += (values[i] - mean) * (values[i - 1] - mean);
  }
  return {mean, values.size() > 1 ? std::sqrt(squares / (count - 1.0)) : 0.0, squares > 0.0 ? neighbours / squares : 0.0};
}

double students_t(double degrees_of_freedom) {
  constexpr double two_sided_95 = 0.975;
  return boost::math::quantile(boost::math::students_t(degrees_of_freedom), two_sided_95);
}

double half_width(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  return students_t(count - 1.0) * describe(values).deviation / std::sqrt(count);
}

std::optional<int> values_needed(double half_width, int count, double wanted, int most) {
  const auto factor = [](int values) { return students_t(values - 1.0) / std::sqrt(values); };
  const double enough = factor(count) * wanted / half_width;
  int few = 1;
  int many = most;
  if (most < 2 || factor(most) > enough) return std::nullopt;
  while (many - few > 1) {
    const int middle = few + (many - few) / 2;
    (factor(middle) <= enough ? many : few) = middle;
  }
  return many;
}

}  // namespace syncopate
