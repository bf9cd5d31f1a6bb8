#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace syncopate {

using JsonPointer = Json::json_pointer;

/// Parses JSON text strictly: duplicate keys, NaN, numbers beyond a double's range, nesting deeper than 64 and text
/// after the value are errors. Throws InputError that starts with `name` and says where.
Json parse_json(std::string_view text, const std::string& name);

/// What nlohmann's parser complains about, without its own prefixes, places and control characters.
std::string parse_error_reason(const nlohmann::detail::exception& error);

/// A JSON document that remembers where its parts came from, so that an error names the file and the pointer that the
/// user has to edit, even when a cluster file was put into a scenario and a sweep then changed one of its values.
class Document {
 public:
  Document(Json root, std::string file) : root_(std::move(root)), file_(std::move(file)) {}

  /// Reads and parses a file. Throws InputError.
  static Document read(const std::filesystem::path& path);

  const Json& root() const { return root_; }
  const std::string& file() const { return file_; }

  /// Replaces the value at `pointer` by the whole of another document.
  void mount(const JsonPointer& pointer, const Document& part);

  /// Sets the value at `pointer`, which the user gave by `origin` (a sweep point, an option of the command line).
  /// Missing objects on the way are made. Throws InputError when the way leads through something else.
  void set(const JsonPointer& pointer, const Json& value, const std::string& origin);

  /// Removes a key of the root, if it is there.
  void erase(const std::string& key);

  /// "file: /pointer" of a value of this document; `pointer` is "" for the root.
  std::string where(const std::string& pointer) const;

  /// " (in point 3)" when a sweep or an option set the value at `pointer` or something around it, " (named by scenario.json: /cluster)"
  /// when it is of a file that was mounted, else "".
  std::string origin(const std::string& pointer) const;

 private:
  struct Part {
    std::string pointer;
    std::string file;
  };
  struct Patch {
    std::string pointer;
    std::string origin;
  };
  const Part* part_at(const std::string& pointer) const;
  const Patch* patch_at(const std::string& pointer) const;

  Json root_;
  std::string file_;
  std::vector<Part> parts_;
  std::vector<Patch> patches_;
};

/// The origin of a value that an option of the command line gave: " (from --set)".
std::string from_option(std::string_view option);

/// Throws "place: message (origin)": an InputError, or a UsageError when an option is the origin.
[[noreturn]] void fail_at(const std::string& place, std::string_view message, const std::string& origin);

/// As a file holds it: indented, and with a newline at its end. What is no UTF-8 is replaced.
std::string pretty(const Json& value);

/// One value as it is shown in a message: compact JSON, shortened when long.
std::string excerpt(const Json& value);

/// "/a" is at or above "/a/b" (and "/a"), not above "/ab".
bool is_at_or_above(const std::string& ancestor, const std::string& pointer);

}  // namespace syncopate
