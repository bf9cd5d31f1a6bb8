#pragma once

#include <compare>

namespace syncopate {

/// A physical quantity as a type: quantities of different units do not mix. The value is in base units: seconds, bytes, bytes per second,
/// seconds per byte.
template <class Unit>
struct Quantity {
  double value = 0.0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(double base_units) : value(base_units) {}

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) { return value += other.value, *this; }
  constexpr Quantity& operator-=(Quantity other) { return value -= other.value, *this; }

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity(k * a.value); }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(k * a.value); }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.value / k); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
};

/// Relative tolerance: figures that differ by less are equal. A time is a sum of some thousands of times; another order of summation
/// changes it by a few times 1e-13.
constexpr double rounding = 1e-12;

using Seconds = Quantity<struct SecondsUnit>;
using Bytes = Quantity<struct BytesUnit>;
using Rate = Quantity<struct BytesPerSecondUnit>;
using SecondsPerByte = Quantity<struct SecondsPerByteUnit>;

constexpr Seconds operator/(Bytes bytes, Rate rate) { return Seconds(bytes.value / rate.value); }
constexpr Bytes operator*(Rate rate, Seconds time) { return Bytes(rate.value * time.value); }
constexpr Seconds operator*(SecondsPerByte cost, Bytes bytes) { return Seconds(cost.value * bytes.value); }
constexpr SecondsPerByte inverse(Rate rate) { return SecondsPerByte(1.0 / rate.value); }

constexpr double bits_per_byte = 8.0;

}  // namespace syncopate
