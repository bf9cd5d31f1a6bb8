#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace syncopate::capture {

/// Signs, one bit each, set where a number is negative, from the lowest bit of the first word on; and the mean magnitude.
struct Signs {
  std::vector<std::uint32_t> words;
  float mean = 0;
};

/// Some of the numbers of a gradient, and where they were.
struct Sparse {
  std::vector<float> values;
  std::vector<std::uint32_t> indices;
};

/// `signs.words` has a bit for each number.
void pack_signs(std::span<const float> numbers, Signs& signs);

/// The numbers of largest magnitude, as many as `kept` has room for, in the order of their indices; of equal ones the first.
void select_top(std::span<const float> numbers, Sparse& kept);

/// What a receiver makes of them: `count` numbers.
std::vector<float> unpack(const Signs& signs, std::size_t count);
std::vector<float> unpack(const Sparse& kept, std::size_t count);

}  // namespace syncopate::capture
