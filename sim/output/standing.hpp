#pragma once

#include "output/row.hpp"

namespace syncopate {

/// How a choice stands to the fastest of its rivals: as fast for all practical purposes, perhaps slower, or slower. The rule is that of
/// scenarios/UNCERTAINTY.md; what is_one_draw() counts as exact.
enum class Standing { equal, undecided, slower };
Standing standing(const Row& row, const Row& fastest);

}  // namespace syncopate
