#include "base/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <numeric>
#include <span>

#include "base/document.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"

namespace syncopate {

namespace {

using Texts = std::vector<std::string>;
using Rows = std::vector<Texts>;

constexpr std::size_t gap = 2;  ///< between columns

/// The width of UTF-8 text on a terminal: one column per code point, which is right for this program's texts.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

bool looks_like_a_number(const std::string& cell) {
  return cell.empty() || std::isdigit(static_cast<unsigned char>(cell.front())) != 0 || cell.front() == '-' || cell.front() == '*';
}

std::string pad(const std::string& text, std::size_t columns, bool right) {
  const std::string space(columns - std::min(columns, width_of(text)), ' ');
  return right ? space + text : text + space;
}

/// Breaks a text at spaces into lines of at most `columns`. A longer word gets a line of its own.
Texts break_text(const std::string& text, std::size_t columns) {
  Texts lines(1);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!lines.back().empty() && width_of(lines.back()) + 1 + width_of(word) > columns) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    begin = end + 1;
  }
  return lines;
}

/// The broken text with newlines. Empty for an empty text.
std::string paragraph(const std::string& text, std::size_t columns) {
  return text.empty() ? "" : fmt::format("{}\n", fmt::join(break_text(text, columns), "\n"));
}

/// Rows and the widths of their columns.
class Layout {
 public:
  explicit Layout(const Rows& rows)
      : rows_(rows), widths_(rows.front().size()), right_(rows.front().size(), true), is_prose_(rows.front().size()) {
    constexpr std::size_t long_text = 24;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t c = 0; c < rows[r].size(); ++c) {
        widths_[c] = std::max(widths_[c], width_of(rows[r][c]));
        if (r == 0) continue;
        if (!looks_like_a_number(rows[r][c])) right_[c] = false;
        if (width_of(rows[r][c]) > long_text && rows[r][c].find(' ') != std::string::npos) is_prose_[c] = true;
      }
    }
  }

  std::size_t width() const { return std::accumulate(widths_.begin(), widths_.end(), gap * (widths_.size() - 1)); }

  /// Breaks long texts so that the table is at most `most` columns wide. Returns false, and changes nothing, if that is impossible.
  bool break_to(std::size_t most) {
    constexpr std::size_t narrowest = 16;
    std::vector<std::size_t> widths = widths_;
    std::vector<std::size_t> prose;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      if (is_prose_[c]) prose.push_back(c);
    }
    // Narrow columns first: the wider ones share the rest.
    std::sort(prose.begin(), prose.end(), [&](std::size_t a, std::size_t b) { return widths_[a] < widths_[b]; });
    std::size_t others = width();
    for (const std::size_t c : prose) others -= widths_[c];
    if (others + narrowest * prose.size() > most) return width() <= most;
    std::size_t room = most - others;
    for (std::size_t i = 0; i < prose.size(); ++i) {
      std::size_t& column_width = widths[prose[i]];
      column_width = std::min(column_width, room / (prose.size() - i));
      room -= column_width;
    }
    for (const std::size_t c : prose) {
      for (const Texts& row : rows_) {
        for (const std::string& line : break_text(row[c], widths[c])) {
          if (width_of(line) > widths[c]) return false;
        }
      }
    }
    widths_ = widths;
    return true;
  }

  std::string text() const {
    std::string text;
    for (const Texts& row : rows_) {
      text += row_text(row);
      if (&row == &rows_.front()) text += std::string(width(), '-') + '\n';
    }
    return text;
  }

 private:
  std::string row_text(const Texts& row) const {
    std::vector<Texts> broken;
    std::size_t height = 1;
    for (std::size_t c = 0; c < row.size(); ++c) {
      broken.push_back(width_of(row[c]) > widths_[c] ? break_text(row[c], widths_[c]) : Texts{row[c]});
      height = std::max(height, broken.back().size());
    }
    std::string text;
    for (std::size_t i = 0; i < height; ++i) {
      std::string line;
      for (std::size_t c = 0; c < row.size(); ++c) {
        line += (c == 0 ? "" : std::string(gap, ' ')) + pad(i < broken[c].size() ? broken[c][i] : "", widths_[c], right_[c]);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
    return text;
  }

  const Rows& rows_;
  std::vector<std::size_t> widths_;
  std::vector<bool> right_;
  std::vector<bool> is_prose_;
};

void erase_column(Rows& rows, std::size_t column) {
  for (Texts& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
}

/// Removes the columns that are equal in all rows. Returns "header: value" of each.
std::string take_equal_columns(Rows& rows) {
  std::string told;
  if (rows.size() < 3) return told;
  for (std::size_t c = rows.front().size(); c-- > 1;) {
    const std::string value = rows[1][c];
    if (!std::all_of(rows.begin() + 1, rows.end(), [&](const Texts& row) { return row[c] == value; })) continue;
    told = fmt::format("{}: {}{}{}", rows.front()[c], value.empty() ? "-" : value, told.empty() ? "" : ", ", told);
    erase_column(rows, c);
  }
  return told;
}

/// The column to leave out next: the first expendable one that is left, else the last column.
std::size_t least_important(const Texts& header, const Texts& expendable) {
  for (const std::string& name : expendable) {
    const auto found = std::find(header.begin() + 1, header.end(), name);
    if (found != header.end()) return static_cast<std::size_t>(found - header.begin());
  }
  return header.size() - 1;
}

struct Units {
  std::span<const char* const> names;  ///< ascending, in steps of 1000
  double first;                        ///< value of the first unit
};

double in_unit(double value, std::size_t unit, const Units& units) {
  return value / units.first / std::pow(1e3, static_cast<double>(unit));
}

/// The unit of the largest value. A smaller unit if the smallest value needs it and the largest value stays readable in it.
std::size_t common_unit(double largest, double smallest, const Units& units) {
  constexpr double least_readable = 0.1;
  constexpr double most_readable = 1e5;
  constexpr double rounds_to_next = 999.95;
  std::size_t unit = 0;
  while (unit + 1 < units.names.size() && in_unit(largest, unit, units) >= rounds_to_next) ++unit;
  while (unit > 0 && in_unit(smallest, unit, units) < least_readable && in_unit(largest, unit - 1, units) < most_readable) --unit;
  return unit;
}

/// Gives all values of a column one unit. Changes nothing if a value would round to 0, or if the column holds other numbers.
template <class Quantity>
void use_one_unit(const std::vector<Cells>& rows, std::size_t column, const Units& units, Rows& texts) {
  double largest = 0.0;
  double smallest = std::numeric_limits<double>::infinity();
  for (std::size_t row = 1; row < rows.size(); ++row) {
    if (const auto* quantity = std::get_if<Quantity>(&rows[row][column].value())) {
      const double size = std::abs(quantity->value);
      largest = std::max(largest, size);
      if (size > 0.0) smallest = std::min(smallest, size);
    } else if (const std::string& text = texts[row][column]; !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0) {
      return;
    }
  }
  if (largest == 0.0) return;
  const std::size_t unit = common_unit(largest, smallest, units);
  constexpr double hidden = 1e-3;
  if (in_unit(smallest, unit, units) < hidden) return;
  for (std::size_t row = 1; row < rows.size(); ++row) {
    const Cell& cell = rows[row][column];
    const auto* quantity = std::get_if<Quantity>(&cell.value());
    if (quantity == nullptr) continue;
    texts[row][column] = cell.text(fmt::format("{} {}", rounded(in_unit(quantity->value, unit, units), 4), units.names[unit]));
  }
}

Rows texts_of(const std::vector<Cells>& rows) {
  constexpr std::array seconds = {"ns", "us", "ms", "s"};
  constexpr std::array bytes = {"B", "kB", "MB", "GB", "TB"};
  Rows texts;
  for (const Cells& row : rows) {
    Texts& line = texts.emplace_back();
    for (const Cell& cell : row) line.push_back(cell.text());
  }
  for (std::size_t column = 0; column < rows.front().size(); ++column) {
    use_one_unit<Seconds>(rows, column, {seconds, 1e-9}, texts);
    use_one_unit<Bytes>(rows, column, {bytes, 1.0}, texts);
  }
  return texts;
}

}  // namespace

std::optional<std::size_t> stdout_width() { return terminal_width(STDOUT_FILENO); }

Cell Cell::between(const std::string& before, const std::string& after) const {
  Cell cell = *this;
  cell.before_ = before;
  cell.after_ = after;
  return cell;
}

std::string Cell::text() const {
  if (const auto* time = std::get_if<Seconds>(&value_)) return text(format_seconds(*time));
  if (const auto* bytes = std::get_if<Bytes>(&value_)) return text(format_bytes(*bytes));
  return text(std::get<std::string>(value_));
}

std::string format_table(const std::vector<Cells>& rows, const TableFit& fit) { return format_table(texts_of(rows), fit); }

std::string format_table(const std::vector<std::vector<std::string>>& rows, const TableFit& fit) {
  constexpr std::size_t longest_cell = 1000;
  Rows shown = rows;
  for (Texts& row : shown) {
    for (std::string& cell : row) cell = printable(shortened(cell, longest_cell));
  }
  if (!fit.width || Layout(shown).width() <= *fit.width) return Layout(shown).text();
  const std::string told = take_equal_columns(shown);
  Texts left_out;
  while (true) {
    Layout layout(shown);
    if (layout.break_to(*fit.width) || shown.front().size() == 1) {
      const std::string note =
          left_out.empty() ? "" : fmt::format("not shown in this width: {}; {}", fmt::join(left_out, ", "), fit.elsewhere);
      return paragraph(told, *fit.width) + layout.text() + paragraph(note, *fit.width);
    }
    const std::size_t column = least_important(shown.front(), fit.expendable);
    left_out.push_back(shown.front()[column]);
    erase_column(shown, column);
  }
}

namespace {

/// A list of objects, short: their names, or how many there are and what tells them from others.
std::string names_in(const Json& list) {
  std::vector<std::string> names;
  for (const Json& one : list) {
    if (one.is_object() && one.contains("name")) names.push_back(value_label(one["name"]));
  }
  const std::size_t digest = std::hash<std::string>()(list.dump()) & 0xffffU;
  return names.size() == list.size() ? fmt::format("{}#{:04x}", fmt::join(names, "+"), digest)
                                     : fmt::format("{}#{:04x}", list.size(), digest);
}

}  // namespace

std::string value_label(const Json& value) {
  if (value.is_string()) {
    const std::filesystem::path path(value.get<std::string>());
    return path.extension() == ".json" ? path.stem().string() : path.string();
  }
  if (!value.is_object()) return value.dump();
  const bool is_named = value.contains("name");
  std::vector<std::string> parts;
  if (is_named) parts.push_back(value_label(value["name"]));
  for (const auto& [key, parameter] : value.items()) {
    if (key == "name" || key == "format" || key == "source" || key.starts_with("x-")) continue;
    const bool is_long = parameter.is_array() && parameter.size() > 1 && parameter.front().is_object();
    parts.push_back(fmt::format("{}={}", key, is_long ? names_in(parameter) : value_label(parameter)));
  }
  const std::string label = fmt::format("{}", fmt::join(parts, " "));
  return is_named ? label : fmt::format("({})", label);
}

}  // namespace syncopate
