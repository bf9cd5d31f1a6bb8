#include "schedule/parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>

namespace syncopate {

namespace {

using Kind = ParameterInfo::Kind;

std::string whole_units(Bytes bytes) {
  for (const auto& [unit, name] : {std::pair(1048576.0, "MiB"), std::pair(1e6, "MB"), std::pair(1e3, "kB")}) {
    if (std::fmod(bytes.value, unit) == 0.0) return fmt::format("{}{}", bytes.value / unit, name);
  }
  return fmt::format("{}", bytes.value);
}

}  // namespace

std::string describe_values(const ParameterInfo& parameter) {
  switch (parameter.kind) {
    case Kind::integer: return fmt::format("integer from {} to {}", parameter.low, parameter.high);
    case Kind::number:
      return parameter.above ? fmt::format("number > {} and <= {}", parameter.low, parameter.high)
                             : fmt::format("number from {} to {}", parameter.low, parameter.high);
    case Kind::boolean: return "true or false";
    case Kind::seconds: return "seconds";
    case Kind::bytes: return "bytes";
    case Kind::seconds_per_byte: return "seconds per byte";
    case Kind::choice: return fmt::format("{}", fmt::join(parameter.choices, " or "));
    case Kind::grouping: return "a way to group gradients";
    case Kind::groups: return "list of groups";
    case Kind::compression: return "a way to compress gradients";
  }
  return "";
}

void Parameters::required(const char* name, int& member, Integers values, const char* meaning, int paper_value) {
  integer(name, member, values, meaning, "", paper_value);
}

void Parameters::optional(const char* name, int& member, Integers values, const char* meaning) {
  integer(name, member, values, meaning, fmt::format("{}", member));
}

void Parameters::integer(const char* name, int& member, Integers values, const char* meaning, std::string default_value, int paper_value) {
  declare({.name = name,
           .meaning = meaning,
           .kind = Kind::integer,
           .low = static_cast<double>(values.low),
           .high = static_cast<double>(values.high),
           .default_value = std::move(default_value),
           .paper_value = paper_value},
          [&member, values](const Field& field) { member = static_cast<int>(field.integer(values.low, values.high)); });
}

void Parameters::optional(const char* name, double& member, Numbers values, const char* meaning) {
  declare({.name = name,
           .meaning = meaning,
           .kind = Kind::number,
           .low = values.low,
           .high = values.high,
           .above = values.above,
           .default_value = fmt::format("{}", member)},
          [&member, values](const Field& field) {
            member = values.above ? field.positive(values.high) : field.number(values.low, values.high);
          });
}

void Parameters::optional(const char* name, bool& member, const char* meaning) {
  declare({.name = name, .meaning = meaning, .kind = Kind::boolean, .default_value = member ? "true" : "false"},
          [&member](const Field& field) { member = field.boolean(); });
}

void Parameters::optional(const char* name, Seconds& member, const char* meaning) {
  declare({.name = name, .meaning = meaning, .kind = Kind::seconds, .default_value = fmt::format("{}", member.value)},
          [&member](const Field& field) { member = field.seconds(); });
}

void Parameters::optional(const char* name, std::optional<Seconds>& member, const char* default_value, const char* meaning) {
  declare({.name = name, .meaning = meaning, .kind = Kind::seconds, .default_value = default_value},
          [&member](const Field& field) { member = field.seconds(); });
}

void Parameters::optional(const char* name, Bytes& member, const char* meaning) {
  declare({.name = name, .meaning = meaning, .kind = Kind::bytes, .default_value = whole_units(member)},
          [&member](const Field& field) { member = field.bytes(); });
}

void Parameters::optional(const char* name, SecondsPerByte& member, const char* meaning) {
  declare({.name = name, .meaning = meaning, .kind = Kind::seconds_per_byte, .default_value = fmt::format("{}", member.value)},
          [&member](const Field& field) { member = field.seconds_per_byte(); });
}

void ParameterReader::declare(const ParameterInfo& info, const std::function<void(const Field&)>& read) {
  if (info.default_value.empty()) {
    read(fields_.at(info.name));
  } else if (const auto field = fields_.find(info.name)) {
    read(*field);
  }
}

void ParameterList::declare(const ParameterInfo& info, const std::function<void(const Field&)>& /*read*/) { list.push_back(info); }

}  // namespace syncopate
