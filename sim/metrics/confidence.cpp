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

}  // namespace syncopate
