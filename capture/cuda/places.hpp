#pragma once

// Where kernels find numbers: for the device and, to be tested, for the host.
namespace syncopate::capture {

/// The number per sample and channel that belongs to number `i` of images [samples, channels, pixels], or of [samples, pixels, channels].
template <class Index>
constexpr Index channel_place(Index i, Index channels, Index pixels, bool channels_last) {
  return channels_last ? i / (channels * pixels) * channels + i % channels : i / pixels;
}

/// The first of the copies that upsampling makes of the input's number `i`. `inner` numbers of a pixel are adjacent: all channels, or one.
/// The next copy is `inner` numbers away, that in the next row width * scale * inner.
template <class Index>
constexpr Index upsampled_place(Index i, Index width, Index scale, Index inner) {
  const Index pixel = i / inner;
  const Index row = pixel / width;  // of all rows of all planes; a row becomes `scale` rows
  const Index x = pixel - row * width;
  return (row * scale * width + x) * scale * inner + (i - pixel * inner);
}

/// Where rotary finds a pair: the number of the head's first half, `pairs` before that of the second half, and the rotation.
template <class Index>
struct RotaryPlace {
  Index first;
  Index rotation;
};

/// Pairs are counted over [samples, tokens, heads, pairs].
template <class Index>
constexpr RotaryPlace<Index> rotary_place(Index i, Index tokens, Index heads, Index pairs) {
  const Index head = i / pairs;  // of all heads of all tokens
  const Index pair = i - head * pairs;
  return {2 * head * pairs + pair, head / heads % tokens * pairs + pair};
}

}  // namespace syncopate::capture
