#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/units.hpp"

namespace syncopate {

/// A table for people: the first row is the header. Columns whose cells below the header all look like numbers are
/// aligned to the right, others to the left.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

/// 4 significant digits with a unit that fits: "12.34 ms".
std::string format_seconds(Seconds time);

/// 4 significant digits with a decimal unit: "102.2 MB".
std::string format_bytes(Bytes bytes);

/// A swept value as a short label: a file's name without folder and ending, a name with its parameters, else JSON.
std::string value_label(const Json& value);

}  // namespace syncopate
