#include "base/unit_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>

#include "base/text.hpp"

namespace syncopate {

namespace {

constexpr std::array seconds_units = {"ns", "us", "ms", "s"};
constexpr std::array byte_units = {"B", "kB", "MB", "GB", "TB"};
constexpr double step = 1e3;  // from unit to unit
using Units = std::span<const char* const>;

std::string with_unit(double value, Units units) {
  std::size_t unit = 0;
  // 999.95 would be shown as 1000 of this unit.
  while (unit + 1 < units.size() && std::abs(value) >= 0.99995 * step) {
    value /= step;
    ++unit;
  }
  return fmt::format("{} {}", rounded(value, 4), units[unit]);
}

/// A cell such as "*12.34 ms (3 steps)".
struct Quantity {
  std::string_view before;
  double number = 0.0;
  std::size_t unit = 0;
  std::string_view after;
};

std::optional<Quantity> parse(std::string_view cell, Units units) {
  Quantity quantity;
  quantity.before = cell.substr(0, cell.starts_with('*') ? 1 : 0);
  const std::string_view text = cell.substr(quantity.before.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), quantity.number);
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error != std::errc() || !rest.starts_with(' ')) return std::nullopt;
  rest.remove_prefix(1);
  const std::string_view name = rest.substr(0, rest.find(' '));
  const auto found = std::find(units.begin(), units.end(), name);
  if (found == units.end()) return std::nullopt;
  quantity.unit = static_cast<std::size_t>(found - units.begin());
  quantity.after = rest.substr(name.size());
  return quantity;
}

double in_unit(const Quantity& quantity, std::size_t unit) {
  return quantity.number * std::pow(step, static_cast<double>(quantity.unit) - static_cast<double>(unit));
}

/// That of the largest quantity, or a smaller one where the smallest could hardly be read in it, and the largest still can.
std::size_t common_unit(const std::vector<Quantity>& quantities) {
  constexpr double least = 0.1;
  constexpr double most = 1e5;
  const auto size = [](const Quantity& one) { return std::abs(in_unit(one, 0)); };
  const auto is_larger = [&](const Quantity& a, const Quantity& b) { return size(a) > size(b); };
  const auto is_smaller = [&](const Quantity& a, const Quantity& b) {
    return b.number == 0.0 ? a.number != 0.0 : a.number != 0.0 && size(a) < size(b);
  };
  const Quantity& largest = *std::min_element(quantities.begin(), quantities.end(), is_larger);
  const Quantity& smallest = *std::min_element(quantities.begin(), quantities.end(), is_smaller);
  std::size_t unit = largest.unit;
  if (smallest.number == 0.0) return unit;
  while (unit > 0 && std::abs(in_unit(smallest, unit)) < least && std::abs(in_unit(largest, unit - 1)) < most) --unit;
  return unit;
}

std::string format(const Quantity& quantity, std::size_t unit, Units units) {
  const double number = in_unit(quantity, unit);
  return fmt::format("{}{} {}{}", quantity.before, rounded(number, 4), units[unit], quantity.after);
}

void align(std::vector<std::vector<std::string>>& rows, std::size_t column, Units units) {
  std::vector<Quantity> quantities;
  std::vector<std::string*> cells;
  for (std::size_t row = 1; row < rows.size(); ++row) {
    std::string& cell = rows[row][column];
    if (const auto quantity = parse(cell, units)) {
      quantities.push_back(*quantity);
      cells.push_back(&cell);
    } else if (!cell.empty() && std::isdigit(static_cast<unsigned char>(cell.front())) != 0) {
      return;
    }
  }
  if (quantities.empty()) return;
  constexpr double least_readable = 1e-3;
  const std::size_t unit = common_unit(quantities);
  const auto is_readable = [=](const Quantity& one) { return one.number == 0.0 || std::abs(in_unit(one, unit)) >= least_readable; };
  if (!std::all_of(quantities.begin(), quantities.end(), is_readable)) return;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (quantities[i].unit != unit) *cells[i] = format(quantities[i], unit, units);
  }
}

}  // namespace

std::string format_seconds(Seconds time) { return time.value == 0.0 ? "0 s" : with_unit(time.value * 1e9, seconds_units); }

std::string format_bytes(Bytes bytes) { return with_unit(bytes.value, byte_units); }

void align_units(std::vector<std::vector<std::string>>& rows) {
  for (std::size_t column = 0; column < rows.front().size(); ++column) {
    align(rows, column, seconds_units);
    align(rows, column, byte_units);
  }
}

}  // namespace syncopate
