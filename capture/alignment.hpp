#pragma once

#include <concepts>

namespace syncopate::capture {

/// `bytes`, or the next multiple of 256: where arrays lie behind each other, each begins where one of cudaMalloc may.
template <std::integral Bytes>
constexpr Bytes aligned(Bytes bytes) {
  constexpr Bytes alignment = 256;
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace syncopate::capture
