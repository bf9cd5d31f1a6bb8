#pragma once

#include <array>
#include <cstdint>

namespace syncopate::capture {

/// Height, width.
struct Pair {
  std::int32_t height;
  std::int32_t width;
};

/// Images of a batch in memory.
struct Image {
  std::int64_t samples;
  std::int32_t channels;
  std::int32_t height;
  std::int32_t width;
  bool channels_last;

  constexpr std::int64_t elements() const { return samples * channels * height * width; }
};

/// Images as [samples, channels, pixels] or [samples, pixels, channels]. Other arrays are images of one pixel.
struct Planes {
  std::int64_t samples;
  std::int64_t channels;
  std::int64_t pixels;
  bool channels_last;

  constexpr std::int64_t elements() const { return samples * channels * pixels; }
};

/// Pooling's windows. Without a kernel they are adaptive: of n pixels the i-th of m windows holds those from floor(i n / m) to
/// ceil((i + 1) n / m).
struct Windows {
  Pair kernel;
  Pair stride;
  Pair pad;
};

}  // namespace syncopate::capture
