#pragma once

#include <string>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

/// 4 significant digits with a unit that fits: "12.34 ms".
std::string format_seconds(Seconds time);

/// 4 significant digits with a decimal unit: "102.2 MB".
std::string format_bytes(Bytes bytes);

/// Gives the quantities of every column one unit: cells that begin with what format_seconds, or format_bytes, has made (after a * perhaps).
/// The first row is the header. Columns that have other numbers, too,
/// or quantities that cannot be read in one unit (below a thousandth of it), stay as they are.
void align_units(std::vector<std::vector<std::string>>& rows);

}  // namespace syncopate
