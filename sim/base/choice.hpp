#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/fields.hpp"

namespace syncopate {

/// The field's text, which must be one of `names`. Throws InputError that lists the names and suggests the nearest.
std::string choose_name(const Field& field, const std::vector<std::string>& names);

/// The row of a table whose `name` is the field's text. Throws InputError as choose_name does.
template <class Row>
const Row& choose(const Field& field, std::span<const Row> table) {
  std::vector<std::string> names;
  for (const Row& row : table) names.emplace_back(row.name);
  const std::string name = choose_name(field, names);
  return *std::find_if(table.begin(), table.end(), [&](const Row& row) { return row.name == name; });
}

}  // namespace syncopate
