#pragma once

#include <array>
#include <cstdint>

namespace syncopate {

/// Philox4x32-10, a counter-based generator: the same (key, counter) always gives the same four words. Drawing for one worker, step or
/// layer does not change the numbers of another one. J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11; tested
/// against the authors' known answers.
constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t multiplier_0 = 0xD2511F53;
  constexpr std::uint64_t multiplier_1 = 0xCD9E8D57;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product_0 = multiplier_0 * counter[0];
    const std::uint64_t product_1 = multiplier_1 * counter[2];
    counter = {static_cast<std::uint32_t>(product_1 >> 32U) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product_1),
               static_cast<std::uint32_t>(product_0 >> 32U) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product_0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// Four words as two independent numbers, uniform in the open interval (0, 1).
constexpr std::array<double, 2> open_units(const std::array<std::uint32_t, 4>& words) {
  const auto open_unit = [](std::uint32_t high, std::uint32_t low) {
    const std::uint64_t bits = ((static_cast<std::uint64_t>(high) << 32U) | low) >> 12U;
    return (static_cast<double>(bits) + 0.5) * 0x1p-52;
  };
  return {open_unit(words[0], words[1]), open_unit(words[2], words[3])};
}

/// Two independent uniform numbers in (0, 1) for a (seed, worker, step, layer).
constexpr std::array<double, 2> uniform_pair(std::uint64_t seed, std::uint32_t worker, std::uint32_t step, std::uint32_t layer) {
  return open_units(philox4x32({worker, step, layer, 0}, {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)}));
}

}  // namespace syncopate
