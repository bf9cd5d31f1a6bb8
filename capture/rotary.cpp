#include "capture/rotary.hpp"

#include <cmath>

namespace syncopate::capture {

std::vector<Rotation> rotations(std::int64_t tokens, std::int64_t pairs) {
  constexpr double base = 10000;
  std::vector<Rotation> all;
  all.reserve(static_cast<std::size_t>(tokens * pairs));
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const double angle = static_cast<double>(token) * std::pow(base, -static_cast<double>(pair) / static_cast<double>(pairs));
      all.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
    }
  }
  return all;
}

}  // namespace syncopate::capture
