#include "capture/node/cpu_compress.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "capture/node/magnitude.hpp"

namespace syncopate::capture {

namespace {

constexpr std::size_t word_bits = 32;

std::uint32_t magnitude_of(float number) { return std::bit_cast<std::uint32_t>(number) & magnitude_mask; }

/// The magnitude of the k-th largest number, and how many numbers of exactly this magnitude are kept.
struct Threshold {
  std::uint32_t magnitude = 0;
  std::size_t ties = 0;
};

/// Radix selection from the highest digit: each pass makes a histogram of the next digit of the numbers that match the digits found.
Threshold find_threshold(std::span<const float> numbers, std::size_t k) {
  Threshold found = {0, k};
  std::vector<std::size_t> bins;
  for (const Digit& digit : digits) {
    bins.assign(digit.bins, 0);
    for (const float number : numbers) {
      const std::uint32_t magnitude = magnitude_of(number);
      if (digit.same_above(magnitude, found.magnitude)) ++bins[digit.of(magnitude)];
    }
    std::uint32_t bin = digit.bins - 1;
    for (; bins[bin] < found.ties; --bin) found.ties -= bins[bin];
    found.magnitude |= bin << digit.shift;
  }
  return found;
}

}  // namespace

void pack_signs(std::span<const float> numbers, Signs& signs) {
  double sum = 0;
  for (std::size_t word = 0; word < signs.words.size(); ++word) {
    const std::span<const float> part = numbers.subspan(word * word_bits, std::min(word_bits, numbers.size() - word * word_bits));
    std::uint32_t bits = 0;
    float part_sum = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      bits |= std::bit_cast<std::uint32_t>(part[i]) >> 31U << i;
      part_sum += std::abs(part[i]);
    }
    signs.words[word] = bits;
    sum += static_cast<double>(part_sum);
  }
  signs.mean = static_cast<float>(sum / static_cast<double>(numbers.size()));
}

void select_top(std::span<const float> numbers, Sparse& kept) {
  Threshold threshold = find_threshold(numbers, kept.values.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint32_t magnitude = magnitude_of(numbers[i]);
    const bool tie = magnitude == threshold.magnitude;
    if (magnitude < threshold.magnitude || (tie && threshold.ties == 0)) continue;
    if (tie) --threshold.ties;
    kept.values[next] = numbers[i];
    kept.indices[next] = static_cast<std::uint32_t>(i);
    ++next;
  }
}

std::vector<float> unpack(const Signs& signs, std::size_t count) {
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = (signs.words[i / word_bits] >> i % word_bits & 1U) != 0 ? -signs.mean : signs.mean;
  return numbers;
}

std::vector<float> unpack(const Sparse& kept, std::size_t count) {
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < kept.values.size(); ++i) numbers[kept.indices[i]] = kept.values[i];
  return numbers;
}

}  // namespace syncopate::capture
