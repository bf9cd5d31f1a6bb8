#include "engine/speed.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/random.hpp"

namespace syncopate {

namespace {

double draw(const Jitter& jitter, std::array<double, 2> uniform) {
  switch (jitter.distribution) {
    case Jitter::Distribution::none: return 1.0;
    case Jitter::Distribution::uniform: return 1.0 + jitter.cv * std::numbers::sqrt3 * (2.0 * uniform[0] - 1.0);
    case Jitter::Distribution::lognormal: {
      const double normal = std::sqrt(-2.0 * std::log(uniform[0])) * std::cos(2.0 * std::numbers::pi * uniform[1]);
      const double variance = std::log1p(jitter.cv * jitter.cv);
      return std::exp(std::sqrt(variance) * normal - variance / 2.0);
    }
  }
  return 1.0;
}

}  // namespace

bool Speed::uniform() const {
  const bool equal = std::adjacent_find(slow.begin(), slow.end(), std::not_equal_to<>()) == slow.end();
  return equal && (jitter.distribution == Jitter::Distribution::none || jitter.cv == 0.0);
}

double Speed::slowness(int rank) const { return slow.empty() ? 1.0 : slow[static_cast<std::size_t>(rank)]; }

double Speed::compute_factor(int rank, int step) const {
  const auto uniform = uniform_pair(seed, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(step), 0);
  return slowness(rank) * draw(jitter, uniform);
}

}  // namespace syncopate
