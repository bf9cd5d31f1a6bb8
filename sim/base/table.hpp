#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/unit_columns.hpp"

namespace syncopate {

/// Columns of the terminal that stdout is; nullopt: it is none.
std::optional<std::size_t> stdout_width();

/// How a table is made to fit. What is too wide first loses columns that are the same in all rows, which are told above it; then long texts
/// go on in lines below, within their columns; then columns are left out, which a line below names.
struct TableFit {
  std::optional<std::size_t> width = stdout_width();  ///< nullopt: however wide it is
  std::vector<std::string> expendable{};              ///< the headers of columns that are left out first, the least important one before
  std::string elsewhere = "a pipe, such as \"| less -S\", shows all";  ///< where to find what is left out
};

/// A table for people: the first row is the header. Columns whose cells below the header all look like numbers are
/// aligned to the right, others to the left. Times in a column have one unit, as have bytes.
std::string format_table(const std::vector<std::vector<std::string>>& rows, const TableFit& fit = TableFit());

/// A swept value as a short label: a file's name without folder and ending, a name with its parameters, else JSON.
std::string value_label(const Json& value);

}  // namespace syncopate
