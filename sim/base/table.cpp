#include "base/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <span>

#include "base/document.hpp"
#include "base/text.hpp"

namespace syncopate {

namespace {

constexpr std::array<const char*, 4> seconds_units = {"ns", "us", "ms", "s"};
constexpr std::array<const char*, 5> byte_units = {"B", "kB", "MB", "GB", "TB"};

/// The width of UTF-8 text on a terminal, as far as our own texts go: one column per code point.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

bool looks_like_a_number(const std::string& cell) {
  return cell.empty() || std::isdigit(static_cast<unsigned char>(cell.front())) != 0 || cell.front() == '-' || cell.front() == '*';
}

std::string pad(const std::string& text, std::size_t columns, bool right) {
  const std::string space(columns - std::min(columns, width(text)), ' ');
  return right ? space + text : text + space;
}

std::string with_unit(double value, std::span<const char* const> units, double step) {
  std::size_t unit = 0;
  // 999.95 would be shown as 1000 of this unit.
  while (unit + 1 < units.size() && std::abs(value) >= 0.99995 * step) {
    value /= step;
    ++unit;
  }
  return fmt::format("{} {}", rounded(value, 4), units[unit]);
}

}  // namespace

std::string format_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  std::vector<bool> right(rows.front().size(), true);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      widths[c] = std::max(widths[c], width(rows[r][c]));
      if (r > 0 && !looks_like_a_number(rows[r][c])) right[c] = false;
    }
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t c = 0; c < rows[r].size(); ++c) line += (c == 0 ? "" : "  ") + pad(rows[r][c], widths[c], right[c]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
    if (r > 0) continue;
    std::size_t total = 2 * (widths.size() - 1);
    for (const std::size_t columns : widths) total += columns;
    text += std::string(total, '-') + '\n';
  }
  return text;
}

std::string format_seconds(Seconds time) { return time.value == 0.0 ? "0 s" : with_unit(time.value * 1e9, seconds_units, 1e3); }

std::string format_bytes(Bytes bytes) { return with_unit(bytes.value, byte_units, 1e3); }

std::string value_label(const Json& value) {
  if (value.is_string()) {
    const std::filesystem::path path(value.get<std::string>());
    return path.extension() == ".json" ? path.stem().string() : path.string();
  }
  if (!value.is_object() || !value.contains("name")) return value.dump();
  std::string label = value_label(value["name"]);
  for (const auto& [key, parameter] : value.items()) {
    if (key != "name") label += fmt::format(" {}={}", key, value_label(parameter));
  }
  return label;
}

}  // namespace syncopate
