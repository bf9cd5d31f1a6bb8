#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

/// What a collective does to a vector of M bytes. Of a reduce-scatter every member ends with its share of the sum, to an all-gather it
/// comes with its share; a broadcast spreads what the first member has.
enum class Operation { all_reduce, reduce_scatter, all_gather, broadcast };

std::string_view to_string(Operation operation);

/// What each of `members` hands over to an operation on a vector of so many bytes.
constexpr Bytes contribution(Operation operation, Bytes bytes, int members) {
  return operation == Operation::all_gather ? bytes / members : bytes;
}

/// What one of `members` sends round a ring for that: of an all-reduce both halves. A broadcast passes everything on once.
constexpr Bytes sent_in_ring(Operation operation, Bytes bytes, int members) {
  const Bytes half = (members - 1.0) / members * bytes;
  return operation == Operation::all_reduce ? 2.0 * half : half;
}

/// One gradient or a part of it: a payload is a list of slices, so that tensors can be merged or partitioned.
struct Slice {
  int tensor = 0;  ///< index into the step profile's gradients
  Bytes bytes;

  bool operator==(const Slice&) const = default;
};

/// The data of one collective. Made once and shared by all ranks.
struct Payload {
  std::string label;  ///< for people: "conv1.weight" or "fc.bias..conv1.weight"
  std::vector<Slice> slices;
  Bytes bytes;  ///< the slices' total; less where they are sent compressed
};

using SharedPayload = std::shared_ptr<const Payload>;

/// Of what it stands for, before compression.
inline Bytes uncompressed(const Payload& payload) {
  Bytes bytes;
  for (const Slice& slice : payload.slices) bytes += slice.bytes;
  return bytes;
}

}  // namespace syncopate
