#pragma once

#include <bit>
#include <cstdint>

namespace syncopate::capture {

/// The nearest fp16, to even where two are as near, as bits.
constexpr std::uint16_t to_half(float value) {
  constexpr std::uint32_t infinity = 0x7F800000;
  constexpr std::uint32_t above_all = 0x47800000;        // 2^16
  constexpr std::uint32_t smallest_normal = 0x38800000;  // 2^-14
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16U & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > infinity) return static_cast<std::uint16_t>(sign | 0x7E00U);
  if (magnitude >= above_all) return static_cast<std::uint16_t>(sign | 0x7C00U);
  if (magnitude < smallest_normal) {
    // The last bit of numbers from 1/2 on is the one that counts subnormal fp16: the addition rounds there.
    const float rounded = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(rounded) - std::bit_cast<std::uint32_t>(0.5F)));
  }
  const std::uint32_t rounded = magnitude + 0xFFFU + (magnitude >> 13U & 1U);
  return static_cast<std::uint16_t>(sign | (rounded - (112U << 23U)) >> 13U);
}

constexpr float from_half(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16U;
  const std::uint32_t magnitude = (half & 0x7FFFU) << 13U;
  constexpr std::uint32_t infinity = 0x7C00U << 13U;
  // Exponents count from 2^-127 in fp32 and from 2^-15 in fp16.
  const std::uint32_t bits =
      magnitude >= infinity ? magnitude | 0x7F800000U : std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
  return std::bit_cast<float>(sign | bits);
}

}  // namespace syncopate::capture
