#include "base/jitter.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/choice.hpp"

namespace syncopate {

namespace {

struct DistributionRow {
  std::string_view name;
  Jitter::Distribution value;
};
constexpr std::array distributions = {
    DistributionRow{"lognormal", Jitter::Distribution::lognormal}, DistributionRow{"uniform", Jitter::Distribution::uniform},
    DistributionRow{"exponential", Jitter::Distribution::exponential}, DistributionRow{"empirical", Jitter::Distribution::empirical}};

/// Measured factors, scaled to a mean of 1.
std::vector<double> read_factors(const Field& field) {
  constexpr double largest = 1e6;
  std::vector<double> factors;
  for (const Field& factor : field.list()) factors.push_back(factor.positive(largest));
  const double mean = std::accumulate(factors.begin(), factors.end(), 0.0) / static_cast<double>(factors.size());
  for (double& factor : factors) factor /= mean;
  return factors;
}

}  // namespace

bool Jitter::varies() const {
  if (distribution != Distribution::empirical) return distribution != Distribution::none && cv > 0.0;
  return std::adjacent_find(factors.begin(), factors.end(), std::not_equal_to<>()) != factors.end();
}

double lognormal(double cv, const std::array<double, 2>& uniform) {
  const double normal = std::sqrt(-2.0 * std::log(uniform[0])) * std::cos(2.0 * std::numbers::pi * uniform[1]);
  const double variance = std::log1p(cv * cv);
  return std::exp(std::sqrt(variance) * normal - variance / 2.0);
}

double Jitter::factor(const std::array<double, 2>& uniform) const {
  switch (distribution) {
    case Distribution::none: return 1.0;
    case Distribution::uniform: return 1.0 + cv * std::numbers::sqrt3 * (2.0 * uniform[0] - 1.0);
    case Distribution::exponential: return 1.0 - cv - cv * std::log(uniform[0]);
    case Distribution::lognormal: return lognormal(cv, uniform);
    case Distribution::empirical: return factors[static_cast<std::size_t>(uniform[0] * static_cast<double>(factors.size()))];
  }
  return 1.0;
}

Jitter read_jitter(const Field& field) {
  Object fields(field);
  Jitter jitter;
  jitter.distribution = choose<DistributionRow>(fields.at("distribution"), distributions).value;
  if (jitter.distribution == Jitter::Distribution::empirical) {
    jitter.factors = read_factors(fields.at("factors"));
    fields.finish();
    return jitter;
  }
  const Field cv = fields.at("cv");
  constexpr double widest = 100.0;
  jitter.cv = cv.number(0.0, widest);
  if (jitter.distribution == Jitter::Distribution::uniform && jitter.cv * std::numbers::sqrt3 >= 1.0) {
    cv.fail("a coefficient of variation < 0.577 (1/sqrt 3) for a uniform factor, which must stay positive");
  }
  if (jitter.distribution == Jitter::Distribution::exponential && jitter.cv > 1.0) {
    cv.fail("a coefficient of variation <= 1 for an exponential factor, whose least value is 1 - cv");
  }
  fields.finish();
  return jitter;
}

}  // namespace syncopate
