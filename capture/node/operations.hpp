#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace syncopate::capture {

/// An operation on gradients that a node does: a copy, a sum, a compression.
struct Operation {
  std::string_view name;
  double traffic;           ///< bytes that it has to move at least, for each byte of the gradients
  std::string_view counts;  ///< what `traffic` adds up
  double share = 0;         ///< the share of numbers that top_k keeps
  bool many = false;        ///< works on all tensors of a network instead of one
};

/// The table: to add an operation, add a row here and to the table of each device that has it.
std::span<const Operation> operations();

/// Bytes of a number in "fp32", "fp16" or "bf16".
constexpr std::int64_t dtype_bytes(std::string_view dtype) { return dtype == "fp32" ? 4 : 2; }

/// How many of `count` numbers top_k keeps: one at least.
constexpr std::int64_t kept(double share, std::int64_t count) {
  const auto rounded = static_cast<std::int64_t>(share * static_cast<double>(count));
  return rounded > 0 ? rounded : 1;
}

}  // namespace syncopate::capture
