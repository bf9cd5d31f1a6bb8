#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/choice.hpp"
#include "base/fields.hpp"
#include "base/units.hpp"

namespace syncopate {

/// The integers from `low` to `high`.
struct Integers {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// The numbers from `low` to `high`, without `low` if `above`.
struct Numbers {
  double low = 0.0;
  double high = 0.0;
  bool above = false;
};

/// An interval, a delay or a period, in steps.
constexpr Integers step_range = {1, 10'000};

/// What is known of a parameter without a value for it.
struct ParameterInfo {
  enum class Kind { integer, number, boolean, seconds, bytes, seconds_per_byte, choice, grouping, groups, compression };

  std::string name;
  std::string meaning;  ///< one line
  Kind kind = Kind::number;
  double low = 0.0;  ///< smallest and largest value, of integers and numbers
  double high = 0.0;
  bool above = false;                  ///< `low` itself is not allowed
  std::vector<std::string> choices{};  ///< the default first
  std::string default_value{};         ///< as text; empty where a value is required
  int paper_value = 0;                 ///< of a required one, what its paper measured with
};

/// For people: "integer from 1 to 10000", "pipelined or serial".
std::string describe_values(const ParameterInfo& parameter);

/// Where a schedule declares its parameters, each once: its name, the member that holds its value, its possible values and its meaning. The
/// member's value is the default.
class Parameters {
 public:
  Parameters() = default;
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;
  virtual ~Parameters() = default;

  /// `paper_value`: what the paper measured with.
  void required(const char* name, int& member, Integers values, const char* meaning, int paper_value);
  void optional(const char* name, int& member, Integers values, const char* meaning);
  void optional(const char* name, double& member, Numbers values, const char* meaning);
  void optional(const char* name, bool& member, const char* meaning);
  void optional(const char* name, Seconds& member, const char* meaning);
  void optional(const char* name, std::optional<Seconds>& member, const char* default_value, const char* meaning);
  void optional(const char* name, Bytes& member, const char* meaning);
  void optional(const char* name, SecondsPerByte& member, const char* meaning);

  /// One of several named values; the first is the default.
  template <class Value>
  void optional(const char* name, Value& member, std::initializer_list<std::pair<std::string_view, Value>> values, const char* meaning) {
    ParameterInfo info = {.name = name, .meaning = meaning, .kind = ParameterInfo::Kind::choice};
    for (const auto& [value_name, value] : values) info.choices.emplace_back(value_name);
    info.default_value = info.choices.front();
    const std::vector<std::pair<std::string_view, Value>> table = values;
    declare(info, [&member, table, names = info.choices](const Field& field) {
      const std::string chosen = choose_name(field, names);
      for (const auto& [value_name, value] : table) {
        if (value_name == chosen) member = value;
      }
    });
  }

  /// Anything else; `read` puts a field's value where it belongs.
  virtual void declare(const ParameterInfo& info, const std::function<void(const Field&)>& read) = 0;

 private:
  void integer(const char* name, int& member, Integers values, const char* meaning, std::string default_value, int paper_value = 0);
};

/// Reads the parameters from an object. Throws InputError.
class ParameterReader : public Parameters {
 public:
  explicit ParameterReader(Object& fields) : fields_(fields) {}
  void declare(const ParameterInfo& info, const std::function<void(const Field&)>& read) override;

 private:
  Object& fields_;
};

/// Lists them.
class ParameterList : public Parameters {
 public:
  void declare(const ParameterInfo& info, const std::function<void(const Field&)>& read) override;

  std::vector<ParameterInfo> list;
};

}  // namespace syncopate
