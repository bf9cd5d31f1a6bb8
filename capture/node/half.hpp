#pragma once

#include <bit>
#include <cstdint>

namespace syncopate::capture {

/// Bits of the nearest fp16, ties to even.
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
    // fp32 numbers from 1/2 to 1 have the step of subnormal fp16, 2^-24: adding 1/2 rounds to it.
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
  // Exponents have a bias of 127 in fp32 and of 15 in fp16, hence the factor 2^112.
  const std::uint32_t bits =
      magnitude >= infinity ? magnitude | 0x7F800000U : std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
  return std::bit_cast<float>(sign | bits);
}

}  // namespace syncopate::capture
