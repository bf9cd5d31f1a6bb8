#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "capture/node/device.hpp"
#include "capture/node/half.hpp"
#include "capture/random_values.hpp"

// What every device has to make of gradients.
namespace syncopate::capture {

/// Multiples of 1/64, none of them 0: all formats hold them and their sums exactly, and there are many ties.
inline std::vector<float> exact_numbers(std::size_t count, std::size_t step) {
  constexpr std::size_t different = 97;
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = (2.0F * static_cast<float>(i * step % different) - 95.0F) / 64.0F;
  return values;
}

/// Of magnitudes from 2^-140 to 2^60, among them ones that fp16 and even fp32 hold with fewer bits.
inline std::vector<float> wide_numbers(std::size_t count) {
  std::vector<float> values = random_numbers(static_cast<std::int64_t>(count));
  for (std::size_t i = 0; i < count; ++i) values[i] = std::ldexp(values[i], static_cast<int>(i * 7 % 200) - 140);
  return values;
}

/// The k largest magnitudes, the largest first.
inline std::vector<float> largest_magnitudes(std::vector<float> numbers, std::size_t k) {
  for (float& number : numbers) number = std::abs(number);
  std::nth_element(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(k - 1), numbers.end(), std::greater<>());
  numbers.resize(k);
  std::sort(numbers.begin(), numbers.end(), std::greater<>());
  return numbers;
}

/// `numbers` are not 0.
inline void check_top_k(const std::vector<float>& result, const std::vector<float>& numbers, std::size_t k) {
  std::vector<float> chosen;
  bool all_are_there = true;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (result[i] == 0.0F) continue;
    all_are_there = all_are_there && result[i] == numbers[i];
    chosen.push_back(result[i]);
  }
  CHECK(all_are_there);
  REQUIRE(chosen.size() == k);
  CHECK(largest_magnitudes(chosen, k) == largest_magnitudes(numbers, k));
}

inline void check_sign(const std::vector<float>& result, const std::vector<float>& numbers) {
  const double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0,
                                     [](double so_far, float number) { return so_far + std::abs(static_cast<double>(number)); });
  CHECK(std::abs(result.front()) == doctest::Approx(sum / static_cast<double>(numbers.size())).epsilon(1e-5));
  bool right = true;
  for (std::size_t i = 0; i < numbers.size(); ++i) right = right && result[i] == std::copysign(result.front(), numbers[i]);
  CHECK(right);
}

/// Does an operation on gradients of these lengths, and checks the outcome. The format holds `numbers` and their sums with
/// `added` exactly.
inline void check_operation(NodeDevice& device, const Operation& operation, std::string_view dtype,
                            const std::vector<std::int64_t>& tensors, const std::vector<float>& numbers, const std::vector<float>& added) {
  CAPTURE(std::string(operation.name));
  CAPTURE(std::string(dtype));
  CAPTURE(numbers.size());
  const std::unique_ptr<NodeTask> task = device.prepare(operation, dtype, tensors);
  task->write(numbers);
  task->write_added(added);
  task->run();
  if (operation.name != "add") task->run();  // nothing is left from the time before
  const std::vector<float> result = task->result();
  REQUIRE(result.size() == numbers.size());
  if (operation.share > 0) {
    check_top_k(result, numbers, static_cast<std::size_t>(kept(operation.share, static_cast<std::int64_t>(numbers.size()))));
  } else if (operation.name == "sign") {
    check_sign(result, numbers);
  } else {
    std::vector<float> expected = numbers;
    if (operation.name == "add") std::transform(numbers.begin(), numbers.end(), added.begin(), expected.begin(), std::plus<>());
    if (operation.name.ends_with("cast_fp16"))
      std::transform(numbers.begin(), numbers.end(), expected.begin(), [](float x) { return from_half(to_half(x)); });
    CHECK(result == expected);
  }
}

/// Every operation of a device, in every format, on gradients of these lengths.
inline void check_operations(NodeDevice& device, const std::vector<std::int64_t>& tensors) {
  const auto count = static_cast<std::size_t>(std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0}));
  for (const Operation& operation : operations()) {
    for (const std::string_view dtype : device.dtypes(operation)) {
      check_operation(device, operation, dtype, tensors, exact_numbers(count, 37), exact_numbers(count, 41));
      if (dtype != "fp32") continue;
      const std::vector<float> random = random_numbers(static_cast<std::int64_t>(count));
      check_operation(device, operation, dtype, tensors, random, exact_numbers(count, 41));
      check_operation(device, operation, dtype, tensors, wide_numbers(count), random);
      check_operation(device, operation, dtype, tensors, std::vector<float>(count, -0.5F), random);
    }
  }
}

/// Lengths that are multiples of nothing, and longer than what a block of threads copies at once.
inline const std::vector<std::vector<std::int64_t>> tensor_lists = {
    {1}, {2}, {31}, {33}, {1000}, {4097}, {100'003}, {1, 2, 3, 64, 1000, 7, 20'001, 64, 1}, {128, 64, 256},
};

}  // namespace syncopate::capture
