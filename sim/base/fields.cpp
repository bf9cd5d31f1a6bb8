#include "base/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/text.hpp"

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

std::optional<double> parse_time(std::string_view text) {
  const auto parts = split_number(text);
  if (!parts) return std::nullopt;
  const auto factor = factor_of(parts->second, times);
  // Dividing by a whole number keeps "50us" equal to the literal 5e-05.
  return factor ? std::optional(*factor < 1.0 ? parts->first / std::round(1.0 / *factor) : parts->first) : std::nullopt;
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

constexpr double longest_s = 1e9;

}  // namespace

Field::Field(const Document& document) : Field(document, "", document.root()) {}

void Field::fail(std::string_view rule) const { fail_because(fmt::format("expected {}, got {}", rule, excerpt(*value_))); }

void Field::fail_because(std::string_view message) const { fail_at(document_->where(pointer_), message, document_->origin(pointer_)); }

bool Field::is_text() const { return value_->is_string(); }

bool Field::is_list() const { return value_->is_array(); }

bool Field::is_object() const { return value_->is_object(); }

std::string Field::text() const {
  if (!value_->is_string() || value_->get_ref<const std::string&>().empty()) fail("a string that is not empty");
  const auto& text = value_->get_ref<const std::string&>();
  if (std::any_of(text.begin(), text.end(), [](char c) { return std::iscntrl(static_cast<unsigned char>(c)) != 0; })) {
    fail("a string without control characters");
  }
  return text;
}

bool Field::boolean() const {
  if (!value_->is_boolean()) fail("true or false");
  return value_->get<bool>();
}

std::int64_t Field::integer(std::int64_t min, std::int64_t max) const {
  const std::string at_least = fmt::format("an integer >= {}", min);
  if (!value_->is_number()) fail(at_least);
  const double number = value_->get<double>();
  if (number != std::floor(number) || number < static_cast<double>(min)) fail(at_least);
  if (number > static_cast<double>(max)) fail(fmt::format("an integer <= {}", max));
  return value_->get<std::int64_t>();
}

double Field::number(double min, double max) const {
  const std::string at_least = min == -std::numeric_limits<double>::infinity() ? "a number" : fmt::format("a number >= {}", min);
  if (!value_->is_number()) fail(at_least);
  const double number = value_->get<double>();
  if (!(number >= min)) fail(at_least);
  if (number > max) fail(fmt::format("a number <= {}", max));
  return number;
}

double Field::positive(double max) const {
  if (!value_->is_number() || value_->get<double>() <= 0.0) fail("a number > 0");
  return number(0.0, max);
}

Seconds Field::seconds() const { return Seconds(number(0.0, longest_s)); }

SecondsPerByte Field::seconds_per_byte() const { return SecondsPerByte(number(0.0, longest_s)); }

Seconds Field::latency() const {
  constexpr double day_s = 86400.0;
  constexpr std::string_view rule = R"(seconds from 0 to a day (86400) or a string such as "50us")";
  const std::optional<double> value = value_->is_string()   ? parse_time(value_->get_ref<const std::string&>())
                                      : value_->is_number() ? std::optional(value_->get<double>())
                                                            : std::nullopt;
  if (!value || !(*value >= 0.0 && *value <= day_s)) fail(rule);
  return Seconds(*value);
}

Rate Field::bandwidth() const {
  constexpr double fastest = 1e18;
  constexpr std::string_view rule = R"(bytes/second > 0 (at most 1e18) or a string such as "10Gbps" (bits) or "12GBps" (bytes))";
  const std::optional<double> value =
      value_->is_string()   ? parse_scaled(value_->get_ref<const std::string&>(), {{"bps", 1.0 / 8.0}, {"Bps", 1.0}, {"B/s", 1.0}})
      : value_->is_number() ? std::optional(value_->get<double>())
                            : std::nullopt;
  if (!value || !(*value > 0.0 && *value <= fastest)) fail(rule);
  return Rate(*value);
}

Bytes Field::bytes() const {
  constexpr double most = 1e15;
  constexpr std::string_view rule = R"(a whole number of bytes from 1 to 1e15 or a string such as "25MB" or "1MiB")";
  const std::optional<double> value = value_->is_string()   ? parse_scaled(value_->get_ref<const std::string&>(), {{"B", 1.0}})
                                      : value_->is_number() ? std::optional(value_->get<double>())
                                                            : std::nullopt;
  if (!value || !(*value >= 1.0 && *value <= most)) fail(rule);
  const double whole = std::round(*value);
  constexpr double of_decimals = 4.0 * std::numeric_limits<double>::epsilon();  // 64.38 MB is not whole as a double
  if (std::abs(*value - whole) > of_decimals * whole) fail(rule);
  return Bytes(whole);
}

std::vector<Field> Field::list() const {
  if (!value_->is_array() || value_->empty()) fail("a list that is not empty");
  std::vector<Field> elements;
  elements.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i) elements.emplace_back(*document_, fmt::format("{}/{}", pointer_, i), (*value_)[i]);
  return elements;
}

Object::Object(const Field& field) : field_(field) {
  if (!field.is_object()) field.fail("an object");
}

Field Object::at(const std::string& key) {
  if (const auto found = find(key)) return *found;
  std::vector<std::string> present;
  for (const auto& [name, value] : field_.json().items()) present.push_back(name);
  const auto misspelt = nearest(key, present);
  field_.fail_because(
      fmt::format("the required key \"{}\" is missing{}", key, misspelt ? fmt::format("; is \"{}\" meant to be it?", *misspelt) : ""));
}

std::optional<Field> Object::find(const std::string& key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  const auto found = field_.json().find(key);
  if (found == field_.json().end()) return std::nullopt;
  return Field(field_.document(), field_.pointer() + (JsonPointer() / key).to_string(), *found);
}

void Object::format(const std::string& kind, bool required) {
  const auto found = required ? std::optional(at("format")) : find("format");
  if (found && found->json() != kind) found->fail(fmt::format("\"{}\"", kind));
}

void Object::finish() const {
  for (const auto& [key, value] : field_.json().items()) {
    if (key.starts_with("x-") || std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const Field unknown(field_.document(), field_.pointer() + (JsonPointer() / key).to_string(), value);
    const std::string suggestion = did_you_mean(key, known_);
    unknown.fail_because(fmt::format("unknown key \"{}\"{}", key,
                                     suggestion.empty() ? fmt::format("; known here: {}", fmt::join(known_, ", ")) : suggestion));
  }
}

}  // namespace syncopate
