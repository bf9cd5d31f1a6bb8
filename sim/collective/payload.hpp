#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

/// An operation on a vector of M bytes. Reduce-scatter: each member ends with its 1/N of the sum. All-gather: each member starts with its
/// 1/N. Broadcast: all members get the first member's vector.
enum class Operation { all_reduce, reduce_scatter, all_gather, broadcast };

std::string_view to_string(Operation operation);

/// Bytes that each of `members` contributes to an operation on a vector of `bytes`.
constexpr Bytes contribution(Operation operation, Bytes bytes, int members) {
  return operation == Operation::all_gather ? bytes / members : bytes;
}

/// Bytes that one of `members` sends around a ring. An all-reduce sends both halves: 2 (N-1)/N·M. A broadcast sends (N-1)/N·M on average:
/// all members but the last pass the vector on.
constexpr Bytes sent_in_ring(Operation operation, Bytes bytes, int members) {
  const Bytes half = (members - 1.0) / members * bytes;
  return operation == Operation::all_reduce ? 2.0 * half : half;
}

/// One gradient, or a part of one. A payload is a list of slices, so tensors can be merged or partitioned.
struct Slice {
  int tensor = 0;  ///< index into the step profile's gradients
  Bytes bytes;

  bool operator==(const Slice&) const = default;
};

/// The data of one collective. All ranks share one object.
struct Payload {
  std::string label;  ///< for people: "conv1.weight" or "fc.bias..conv1.weight"
  std::vector<Slice> slices;
  Bytes bytes;  ///< total of the slices, or less if compressed
};

using SharedPayload = std::shared_ptr<const Payload>;

/// Time of a rank's host for a collective, from when the rank could start it until its first message.
struct HostTime {
  Seconds per_collective;
  Seconds per_rank;    ///< for each rank of the collective
  Seconds per_tensor;  ///< for each tensor that is merged in it

  bool is_zero() const { return per_collective + per_rank + per_tensor == Seconds(0); }
  /// Without the part that the number of collectives does not change. A collective of one rank takes none.
  Seconds start_up(int ranks) const { return ranks == 1 ? Seconds(0) : per_collective + ranks * per_rank; }
  Seconds operator()(const Payload& payload, int ranks) const {
    return start_up(ranks) + (ranks == 1 ? 0.0 : static_cast<double>(payload.slices.size())) * per_tensor;
  }
};

/// The payload's bytes before compression.
inline Bytes uncompressed(const Payload& payload) {
  Bytes bytes;
  for (const Slice& slice : payload.slices) bytes += slice.bytes;
  return bytes;
}

}  // namespace syncopate
