#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/fields.hpp"
#include "base/text.hpp"

namespace syncopate {

/// The row of a table whose `name` the field gives. Throws InputError that lists the names and suggests the nearest;
/// a name in `not_built_yet` gets an error that says so.
template <class Row>
const Row& choose(const Field& field, std::span<const Row> table, const std::vector<std::string>& not_built_yet = {}) {
  const std::string name = field.text();
  std::vector<std::string> names;
  for (const Row& row : table) {
    if (row.name == name) return row;
    names.emplace_back(row.name);
  }
  const std::string list = fmt::format("{}", fmt::join(names, ", "));
  if (std::find(not_built_yet.begin(), not_built_yet.end(), name) != not_built_yet.end()) {
    field.fail_because(fmt::format("\"{}\" is not built yet; choose one of {}", name, list));
  }
  field.fail_because(fmt::format("expected one of {}, got {}{}", list, excerpt(field.json()), did_you_mean(name, names)));
}

}  // namespace syncopate
