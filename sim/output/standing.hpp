#pragma once

#include "output/row.hpp"

namespace syncopate {

/// A choice against the fastest of its rivals: as fast for all practical purposes, perhaps slower, or slower. The rule is in
/// scenarios/UNCERTAINTY.md. A row that is_one_draw() counts as exact.
enum class Standing { equal, undecided, slower };
Standing standing(const Row& row, const Row& fastest);

}  // namespace syncopate
