#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.hpp"
#include "base/units.hpp"

namespace syncopate {

/// Width of the terminal on stdout in columns. Nullopt if stdout is not a terminal.
std::optional<std::size_t> stdout_width();

/// How a table is made to fit the width:
/// 1. Columns that are equal in all rows move to a line above the table.
/// 2. Long texts are broken into several lines within their columns.
/// 3. Columns are left out. A line below the table names them.
struct TableFit {
  std::optional<std::size_t> width = stdout_width();  ///< in columns; nullopt: no limit
  std::vector<std::string> expendable{};              ///< headers of columns to leave out first, the least important one first
  std::string elsewhere = "a pipe, such as \"| less -S\", shows all";  ///< where to find the columns that are left out
};

/// A cell of a table: a text, a time or a number of bytes.
class Cell {
 public:
  Cell() = default;
  // NOLINTBEGIN(google-explicit-constructor, hicpp-explicit-conversions): a row is a list of texts and quantities
  Cell(std::string text) : value_(std::move(text)) {}
  Cell(const char* text) : value_(std::string(text)) {}
  Cell(Seconds time) : value_(time) {}
  Cell(Bytes bytes) : value_(bytes) {}
  // NOLINTEND(google-explicit-constructor, hicpp-explicit-conversions)

  /// The cell with texts before and after its value, such as "*" and " (3 steps)".
  Cell between(const std::string& before, const std::string& after) const;

  const std::variant<std::string, Seconds, Bytes>& value() const { return value_; }
  /// The cell's text, with a unit that suits the value.
  std::string text() const;
  /// The cell's text, with `value` in place of its value.
  std::string text(const std::string& value) const { return before_ + value + after_; }

 private:
  std::string before_;
  std::variant<std::string, Seconds, Bytes> value_;
  std::string after_;
};
using Cells = std::vector<Cell>;

/// A table for people. The first row is the header. A column is right-aligned if all of its cells look like numbers. The times of a column
/// share a unit, and so do its bytes, unless the smallest value would be below 0.001.
std::string format_table(const std::vector<Cells>& rows, const TableFit& fit = TableFit());
std::string format_table(const std::vector<std::vector<std::string>>& rows, const TableFit& fit = TableFit());

/// A short label for a swept value: a file's name without folder and ending, a schedule's name with its parameters, else JSON.
std::string value_label(const Json& value);

}  // namespace syncopate
