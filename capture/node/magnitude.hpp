#pragma once

#include <array>
#include <cstdint>

namespace syncopate::capture {

/// The bits of an fp32 number without its sign. As integers they order numbers by magnitude.
constexpr std::uint32_t magnitude_mask = 0x7FFFFFFF;

/// Some bits of a magnitude, as a digit. top_k makes a histogram of each digit.
struct Digit {
  std::uint32_t shift;
  std::uint32_t bins;

  constexpr std::uint32_t of(std::uint32_t magnitude) const { return (magnitude >> shift) & (bins - 1); }
  /// Whether all digits above this one are those of `other`.
  constexpr bool same_above(std::uint32_t magnitude, std::uint32_t other) const { return (magnitude ^ other) >> shift < bins; }
};

/// From the highest to the lowest: 11 + 11 + 9 bits.
inline constexpr std::array digits = {Digit{20, 2048}, Digit{9, 2048}, Digit{0, 512}};

}  // namespace syncopate::capture
