#pragma once

#include "capture/cuda/image.hpp"

namespace syncopate::capture {

template <class Index>
struct Pixel {
  Index sample;
  Index channel;
  int y;
  int x;
};

/// What lies at `i` of a batch of images.
template <class Index>
__device__ Pixel<Index> pixel_at(Index i, const Image& image) {
  const auto channels = static_cast<Index>(image.channels);
  const auto height = static_cast<Index>(image.height);
  const auto width = static_cast<Index>(image.width);
  if (image.channels_last) {
    return {i / (channels * width * height), i % channels, static_cast<int>(i / (channels * width) % height),
            static_cast<int>(i / channels % width)};
  }
  return {i / (width * height * channels), i / (width * height) % channels, static_cast<int>(i / width % height),
          static_cast<int>(i % width)};
}

template <class Index>
__device__ Index place_of(Index sample, Index channel, int y, int x, const Image& image) {
  const auto height = static_cast<Index>(image.height);
  const auto width = static_cast<Index>(image.width);
  const auto channels = static_cast<Index>(image.channels);
  if (image.channels_last) return ((sample * height + static_cast<Index>(y)) * width + static_cast<Index>(x)) * channels + channel;
  return ((sample * channels + channel) * height + static_cast<Index>(y)) * width + static_cast<Index>(x);
}

}  // namespace syncopate::capture
