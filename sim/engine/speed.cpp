#include "engine/speed.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/random.hpp"

namespace syncopate {

namespace {

double lognormal(double cv, std::array<double, 2> uniform) {
  const double normal = std::sqrt(-2.0 * std::log(uniform[0])) * std::cos(2.0 * std::numbers::pi * uniform[1]);
  const double variance = std::log1p(cv * cv);
  return std::exp(std::sqrt(variance) * normal - variance / 2.0);
}

double draw(const Jitter& jitter, std::array<double, 2> uniform) {
  switch (jitter.distribution) {
    case Jitter::Distribution::none: return 1.0;
    case Jitter::Distribution::uniform: return 1.0 + jitter.cv * std::numbers::sqrt3 * (2.0 * uniform[0] - 1.0);
    case Jitter::Distribution::lognormal: return lognormal(jitter.cv, uniform);
    case Jitter::Distribution::empirical:
      return jitter.factors[static_cast<std::size_t>(uniform[0] * static_cast<double>(jitter.factors.size()))];
  }
  return 1.0;
}

bool all_equal(const std::vector<double>& factors) {
  return std::adjacent_find(factors.begin(), factors.end(), std::not_equal_to<>()) == factors.end();
}

}  // namespace

bool Speed::uniform() const {
  const bool varies = jitter.distribution == Jitter::Distribution::empirical ? !all_equal(jitter.factors) : jitter.cv > 0.0;
  return all_equal(slow) && pauses.empty() && (jitter.distribution == Jitter::Distribution::none || !varies);
}

double Speed::slowness(int worker) const { return slow.empty() ? 1.0 : slow[static_cast<std::size_t>(worker)]; }

double Speed::compute_factor(int worker, int step) const {
  const auto uniform = uniform_pair(seed, static_cast<std::uint32_t>(worker), static_cast<std::uint32_t>(step), 0);
  return slowness(worker) * draw(jitter, uniform);
}

std::vector<Pause> Speed::pauses_of(int first_worker, int count) const {
  std::vector<Pause> chosen;
  for (const Pause& pause : pauses) {
    if (pause.worker >= first_worker && pause.worker < first_worker + count) chosen.push_back(pause);
  }
  std::sort(chosen.begin(), chosen.end(), [](const Pause& a, const Pause& b) { return a.start < b.start; });
  std::vector<Pause> joined;
  for (const Pause& pause : chosen) {
    if (!joined.empty() && pause.start <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, pause.end);
    } else {
      joined.push_back(pause);
    }
  }
  return joined;
}

Seconds end_of_compute(Seconds start, Seconds length, const std::vector<Pause>& pauses) {
  for (const Pause& pause : pauses) {
    if (length == Seconds(0) || start + length <= pause.start) break;
    if (pause.end <= start) continue;
    length -= std::max(Seconds(0), pause.start - start);
    start = pause.end;
  }
  return start + length;
}

Seconds end_of_pause(Seconds time, const std::vector<Pause>& pauses) {
  for (const Pause& pause : pauses) {
    if (pause.start <= time && time < pause.end) return pause.end;
  }
  return time;
}

double latency_factor(double cv, std::uint64_t seed, int stream, std::size_t collective) {
  constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();
  return lognormal(cv, uniform_pair(seed, nobody, static_cast<std::uint32_t>(collective), 1 + static_cast<std::uint32_t>(stream)));
}

}  // namespace syncopate
