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

/// Coordinates of element `i` of a batch of images. Uses three divisions, each as slow as a dozen other instructions.
template <class Index>
__device__ Pixel<Index> pixel_at(Index i, const Image& image) {
  const auto channels = static_cast<Index>(image.channels);
  const auto height = static_cast<Index>(image.height);
  const auto width = static_cast<Index>(image.width);
  const auto split = [](Index& number, Index extent) {  // takes the last coordinate off
    const Index whole = number / extent;
    const Index rest = number - whole * extent;
    number = whole;
    return rest;
  };
  if (image.channels_last) {
    const Index channel = split(i, channels);
    const Index x = split(i, width);
    const Index y = split(i, height);
    return {i, channel, static_cast<int>(y), static_cast<int>(x)};
  }
  const Index x = split(i, width);
  const Index y = split(i, height);
  const Index channel = split(i, channels);
  return {i, channel, static_cast<int>(y), static_cast<int>(x)};
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
