#pragma once

#include "output/row.hpp"

namespace syncopate {

/// A choice against the fastest of its rivals: as fast for all practical purposes, perhaps slower, or slower. The rule is in
/// scenarios/UNCERTAINTY.md. Nothing but a tie can be told of a row that is_unsure().
enum class Standing { equal, undecided, slower };
Standing standing(const Row& row, const Row& fastest);

}  // namespace syncopate
