#include "base/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/quantities.hpp"
#include "base/text.hpp"

namespace syncopate {

namespace {

constexpr double longest_s = 1e9;
constexpr std::size_t longest_shown = 100;  ///< bytes of a key in a message

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

std::string Field::name() const {
  constexpr std::size_t most = 255;  // as Linux allows for file names
  std::string name = text();
  if (name.size() > most) fail(fmt::format("a name of at most {} bytes", most));
  return name;
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
  constexpr double slowest = 1.0;
  constexpr double fastest = 1e18;
  constexpr std::string_view rule = R"(bytes/second from 1 to 1e18 or a string such as "10Gbps" (bits) or "12GBps" (bytes))";
  const std::optional<double> value = value_->is_string()   ? parse_bandwidth(value_->get_ref<const std::string&>())
                                      : value_->is_number() ? std::optional(value_->get<double>())
                                                            : std::nullopt;
  if (!value || !(*value >= slowest && *value <= fastest)) fail(rule);
  return Rate(*value);
}

Bytes Field::bytes() const {
  constexpr double most = 1e15;
  constexpr std::string_view rule = R"(a whole number of bytes from 1 to 1e15 or a string such as "25MB" or "1MiB")";
  const std::optional<double> value = value_->is_string()   ? parse_size(value_->get_ref<const std::string&>())
                                      : value_->is_number() ? std::optional(value_->get<double>())
                                                            : std::nullopt;
  if (!value || !(*value >= 1.0 && *value <= most)) fail(rule);
  const double whole = std::round(*value);
  constexpr double tolerance = 4.0 * std::numeric_limits<double>::epsilon();  // as a double, 64.38 MB is not a whole number
  if (std::abs(*value - whole) > tolerance * whole) fail(rule);
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
      fmt::format("the required key \"{}\" is missing{}", key, misspelt ? fmt::format("; is \"{}\" a misspelling of it?", *misspelt) : ""));
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
  if (const auto schema = find("$schema")) schema->text();
}

void Object::finish() const {
  for (const auto& [key, value] : field_.json().items()) {
    if (key.starts_with("x-") || std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const Field unknown(field_.document(), field_.pointer() + (JsonPointer() / key).to_string(), value);
    const std::string suggestion = did_you_mean(key, known_);
    unknown.fail_because(fmt::format("unknown key \"{}\"{}", shortened(key, longest_shown),
                                     suggestion.empty() ? fmt::format("; known here: {}", fmt::join(known_, ", ")) : suggestion));
  }
}

}  // namespace syncopate
