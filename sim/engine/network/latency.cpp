#include "engine/network/latency.hpp"

#include <limits>

#include "base/random.hpp"

namespace syncopate {

double latency_factor(double cv, std::uint64_t seed, int stream, std::size_t collective) {
  constexpr std::uint32_t no_worker = std::numeric_limits<std::uint32_t>::max();
  return lognormal(cv, uniform_pair(seed, no_worker, static_cast<std::uint32_t>(collective), 1 + static_cast<std::uint32_t>(stream)));
}

Seconds MessageLatency::operator()(int from, int to, const MessageName& name, Seconds latency) const {
  if (!draws()) return latency;
  const Path& path = network_.path(from, to);
  if (path.over == nullptr || !path.over->jitter.varies()) return latency;
  const auto low = static_cast<std::uint32_t>(name.number);
  const auto high = static_cast<std::uint32_t>(name.number >> 32U);
  const auto [first, second, unused_1, unused_2] =
      philox4x32({name.stream, low, high, 1}, {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32U)});
  const auto ends = std::array{static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to)};
  return path.over->jitter.factor(open_units(philox4x32({ends[0], ends[1], name.part, name.repeat}, {first, second}))) * latency;
}

Seconds MessageLatency::at(int from, int to, const MessageName& name, Seconds time, double factor) const {
  return (*this)(from, to, name, factor * network_.path(from, to).latency_at(time));
}

}  // namespace syncopate
