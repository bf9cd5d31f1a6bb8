#pragma once

#include <cstdint>
#include <vector>

namespace syncopate::capture {

/// Cosine and sine of the angle by which a pair of numbers turns. Aligned so that a GPU reads both at once.
struct alignas(2 * sizeof(float)) Rotation {
  float cosine;
  float sine;
};

/// Rotary embedding (J. Su et al., "RoFormer", arXiv:2104.09864, Sec. 3.2): the rotations of all `pairs` of a head's numbers for each of
/// `tokens` positions, one position after the other. Pair j turns by the position times 10000^(-j / pairs).
std::vector<Rotation> rotations(std::int64_t tokens, std::int64_t pairs);

}  // namespace syncopate::capture
