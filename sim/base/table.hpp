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

/// Columns of the terminal that stdout is; nullopt: it is none.
std::optional<std::size_t> stdout_width();

/// How a table is made to fit. What is too wide first loses columns that are the same in all rows, which are told above it; then long texts
/// go on in lines below, within their columns; then columns are left out, which a line below names.
struct TableFit {
  std::optional<std::size_t> width = stdout_width();  ///< nullopt: however wide it is
  std::vector<std::string> expendable{};              ///< the headers of columns that are left out first, the least important one before
  std::string elsewhere = "a pipe, such as \"| less -S\", shows all";  ///< where to find what is left out
};

/// A cell of a table: a text, a time or bytes.
class Cell {
 public:
  Cell() = default;
  // NOLINTBEGIN(google-explicit-constructor, hicpp-explicit-conversions): rows of cells are lists of what they show
  Cell(std::string text) : value_(std::move(text)) {}
  Cell(const char* text) : value_(std::string(text)) {}
  Cell(Seconds time) : value_(time) {}
  Cell(Bytes bytes) : value_(bytes) {}
  // NOLINTEND(google-explicit-constructor, hicpp-explicit-conversions)

  /// With texts around its value, such as "*" and " (3 steps)".
  Cell between(const std::string& before, const std::string& after) const;

  const std::variant<std::string, Seconds, Bytes>& value() const { return value_; }
  /// With a unit that fits.
  std::string text() const;
  /// With another text for the value.
  std::string text(const std::string& value) const { return before_ + value + after_; }

 private:
  std::string before_;
  std::variant<std::string, Seconds, Bytes> value_;
  std::string after_;
};
using Cells = std::vector<Cell>;

/// A table for people. The first row is the header. A column is aligned to the right if all of its cells look like numbers. The times of a
/// column have one unit, as have its bytes, unless the smallest of them could not be read in it.
std::string format_table(const std::vector<Cells>& rows, const TableFit& fit = TableFit());
std::string format_table(const std::vector<std::vector<std::string>>& rows, const TableFit& fit = TableFit());

/// A swept value as a short label: a file's name without folder and ending, a name with its parameters, else JSON.
std::string value_label(const Json& value);

}  // namespace syncopate
