#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

/// What a collective does to its ranks' data.
enum class Operation { all_reduce, reduce_scatter, all_gather, broadcast };

std::string_view to_string(Operation operation);

/// The ranks first, first + stride, ... : all workers of a job, the GPUs of a node, the first GPU of every node.
struct Group {
  int first = 0;
  int count = 1;
  int stride = 1;

  bool operator==(const Group&) const = default;
};

/// A part of one gradient: a message is a list of slices, so that tensors can be merged or partitioned.
struct Slice {
  int tensor = 0;  ///< index into the step profile's gradients
  Bytes offset;
  Bytes bytes;

  bool operator==(const Slice&) const = default;
};

/// The data of one collective. Made once and shared by all ranks.
struct Payload {
  std::string label;  ///< for people: "conv1.weight" or "fc.bias..conv1.weight"
  std::vector<Slice> slices;
  Bytes bytes;  ///< the slices' total
};

using SharedPayload = std::shared_ptr<const Payload>;

}  // namespace syncopate
