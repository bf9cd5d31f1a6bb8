#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace syncopate {

using JsonPointer = Json::json_pointer;

/// Parses JSON strictly. Errors: duplicate keys, NaN, numbers beyond a double's range, nesting deeper than 64, text after the value.
/// Throws InputError with `name`, line and column.
Json parse_json(std::string_view text, const std::string& name);

/// The reason in an exception of nlohmann's parser, without its prefix, position and control characters.
std::string parse_error_reason(const nlohmann::detail::exception& error);

/// A JSON document that remembers where its parts came from. Errors name the file and the pointer that the user has to edit, even when a
/// cluster file was mounted into a scenario and a sweep changed one of its values.
class Document {
 public:
  Document(Json root, std::string file) : root_(std::move(root)), file_(std::move(file)) {}

  /// Reads and parses a file. Throws InputError.
  static Document read(const std::filesystem::path& path);

  const Json& root() const { return root_; }
  const std::string& file() const { return file_; }
  /// The file that the value at `pointer` was read from.
  const std::string& file_at(const std::string& pointer) const;

  /// Replaces the value at `pointer` by the whole of another document.
  void mount(const JsonPointer& pointer, const Document& part);

  /// Sets the value at `pointer`. `origin` says who gave it: a sweep point or a command-line option. Creates missing objects on the path.
  /// Null removes what is there. Throws InputError when the path leads through a value that is not an object or a list.
  void set(const JsonPointer& pointer, const Json& value, const std::string& origin);

  /// Removes a key of the root, if present.
  void erase(const std::string& key);

  /// "file: /pointer" of the value at `pointer`. "" is the root.
  std::string where(const std::string& shown_pointer) const;

  /// Where the value at `pointer` comes from, as the end of a message:
  /// - " (in point 3)": a sweep or an option set it, or a value around it.
  /// - " (named by scenario.json: /cluster)": it belongs to a mounted file.
  /// - "": it was read from this document's file.
  std::string origin(const std::string& shown_pointer) const;

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
  /// The part that the value comes from; null where it is this document's, or was set in the part.
  const Part* unpatched_part_at(const std::string& pointer) const;

  Json root_;
  std::string file_;
  std::vector<Part> parts_;
  std::vector<Patch> patches_;
};

/// The origin of a value that a command-line option gave: " (from --set)".
std::string from_option(std::string_view option);

/// Throws "place: message (origin)". The error is a UsageError when the origin is an option, else an InputError.
[[noreturn]] void fail_at(const std::string& place, std::string_view message, const std::string& origin);

/// JSON text for a file: indented by one space, with a newline at the end. Bytes that are not UTF-8 are replaced.
std::string pretty(const Json& value);

/// A value for a message: compact JSON, at most 60 bytes.
std::string excerpt(const Json& value);

/// Whether one JSON pointer contains the other. "/a" is at or above "/a" and "/a/b", but not "/ab".
bool is_at_or_above(const std::string& ancestor, const std::string& pointer);

}  // namespace syncopate
