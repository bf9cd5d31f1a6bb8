#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/units.hpp"

namespace syncopate {

/// One value of a Document, read by type. Errors are InputErrors of the form `file: /pointer: expected RULE, got VALUE`.
class Field {
 public:
  Field(const Document& document, std::string pointer, const Json& value)
      : document_(&document), pointer_(std::move(pointer)), value_(&value) {}

  /// The root of a document.
  explicit Field(const Document& document);

  const Json& json() const { return *value_; }
  const std::string& pointer() const { return pointer_; }
  const Document& document() const { return *document_; }

  /// Throws InputError: `file: /pointer: expected RULE, got VALUE`.
  [[noreturn]] void fail(std::string_view rule) const;
  /// Throws InputError: `file: /pointer: MESSAGE`, for a rule about more than this value.
  [[noreturn]] void fail_because(std::string_view message) const;

  bool is_text() const;
  bool is_list() const;
  bool is_object() const;

  std::string text() const;  ///< a string that is not empty
  std::string name() const;  ///< a string of 1 to 255 bytes
  bool boolean() const;
  std::int64_t integer(std::int64_t min, std::int64_t max) const;
  double number(double min, double max) const;
  double positive(double max) const;  ///< a number > 0 and <= max

  Seconds seconds() const;                  ///< a number of seconds, from 0 to 1e9
  Seconds latency() const;                  ///< seconds or a string such as "50us", from 0 to one day
  Rate bandwidth() const;                   ///< bytes/second or a string such as "10Gbps" or "12GBps", from 1 to 1e18
  Bytes bytes() const;                      ///< a whole number of bytes or a string such as "25MB" or "1MiB", >= 1
  SecondsPerByte seconds_per_byte() const;  ///< from 0 to 1e9

  /// The elements of an array that is not empty.
  std::vector<Field> list() const;

 private:
  const Document* document_;
  std::string pointer_;
  const Json* value_;
};

/// The members of a JSON object. A reader asks for every key that it knows, then calls `finish`. `finish` rejects all other keys except
/// those that begin with `x-`, and suggests the nearest known key.
class Object {
 public:
  /// Throws InputError when the value is not an object.
  explicit Object(const Field& field);

  const Field& field() const { return field_; }

  /// A required member. Throws InputError when it is absent.
  Field at(const std::string& key);
  /// An optional member.
  std::optional<Field> find(const std::string& key);
  /// Checks the `format` member against `kind`, such as "trace/1". `required`: the member must be there, as in a whole file. Also accepts
  /// a `$schema` member, which editors use.
  void format(const std::string& kind, bool required);

  /// Throws InputError when the object has a key that the reader did not ask for.
  void finish() const;

 private:
  Field field_;
  std::vector<std::string> known_;
};

}  // namespace syncopate
