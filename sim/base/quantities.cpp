#include "base/quantities.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

namespace syncopate {

namespace {

struct Suffix {
  std::string_view text;
  double factor;
};

constexpr std::array prefixes = {Suffix{"Ki", 1024.0}, Suffix{"Mi", 1048576.0}, Suffix{"Gi", 1073741824.0}, Suffix{"Ti", 1099511627776.0},
                                 Suffix{"k", 1e3},     Suffix{"M", 1e6},        Suffix{"G", 1e9},           Suffix{"T", 1e12},
                                 Suffix{"", 1.0}};
constexpr std::array times = {Suffix{"s", 1.0}, Suffix{"ms", 1e-3}, Suffix{"us", 1e-6}, Suffix{"ns", 1e-9}};

/// Splits "10 Gbps" into 10 and "Gbps"; nullopt when it does not start with a plain finite number.
std::optional<std::pair<double, std::string_view>> split_number(std::string_view text) {
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  return std::pair(number, unit);
}

template <std::size_t N>
std::optional<double> factor_of(std::string_view unit, const std::array<Suffix, N>& table) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Suffix& suffix) { return suffix.text == unit; });
  return found == table.end() ? std::nullopt : std::optional(found->factor);
}

/// A number with a metric or binary prefix and one of `units`, whose factors convert to bytes.
std::optional<double> parse_scaled(std::string_view text, std::initializer_list<Suffix> units) {
  const auto parts = split_number(text);
  if (!parts) return std::nullopt;
  for (const Suffix& unit : units) {
    if (!parts->second.ends_with(unit.text)) continue;
    const auto prefix = factor_of(parts->second.substr(0, parts->second.size() - unit.text.size()), prefixes);
    if (prefix) return parts->first * *prefix * unit.factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> parse_time(std::string_view text) {
  const auto parts = split_number(text);
  if (!parts) return std::nullopt;
  const auto factor = factor_of(parts->second, times);
  // Dividing by a whole number keeps "50us" equal to the literal 5e-05.
  return factor ? std::optional(*factor < 1.0 ? parts->first / std::round(1.0 / *factor) : parts->first) : std::nullopt;
}

std::optional<double> parse_bandwidth(std::string_view text) {
  return parse_scaled(text, {{"bps", 1.0 / 8.0}, {"b/s", 1.0 / 8.0}, {"Bps", 1.0}, {"B/s", 1.0}});
}

std::optional<double> parse_size(std::string_view text) { return parse_scaled(text, {{"B", 1.0}}); }

std::optional<double> as_number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  for (const auto parse : {parse_time, parse_bandwidth, parse_size}) {
    if (const std::optional<double> number = parse(text)) return number;
  }
  return std::nullopt;
}

}  // namespace syncopate
