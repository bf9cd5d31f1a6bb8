#pragma once

#include <array>
#include <cstdint>

#include "base/random.hpp"

namespace syncopate::capture {

/// Four random words of dropout, for elements 4 `quad` to 4 `quad` + 3 of a layer's output in memory. An element is kept when its
/// word is below `dropout_kept`. Every device draws the same words, so that their results can be compared.
constexpr std::array<std::uint32_t, 4> dropout_words(std::uint32_t iteration, std::uint32_t layer, std::uint64_t quad) {
  return philox4x32({static_cast<std::uint32_t>(quad), static_cast<std::uint32_t>(quad >> 32U), layer, iteration}, {0x44524F50, 0});
}

/// Half of the elements stay, and are doubled.
inline constexpr std::uint32_t dropout_kept = 0x80000000U;
inline constexpr float dropout_scale = 2.0F;

}  // namespace syncopate::capture
