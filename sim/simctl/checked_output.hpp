#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/files.hpp"

namespace syncopate {

/// Throws UsageError if the file is there and --force is not given. `option`: what gave it, such as "-o ".
inline void require_new(const std::string& option, const std::string& file, bool force) {
  if (force || !std::filesystem::exists(file)) return;
  throw UsageError(fmt::format("{}{}: there is such a file; choose another name, or overwrite it with --force", option, file));
}

/// Writes a JSON file of a format that simctl reads, if `read` accepts it. `is_named`: --name gave its /name. `cause`: what the text was
/// made of, for messages. Throws UsageError for a bad --name, InputError for any other bad text, and OutputError.
template <class Read>
void write_checked(const std::string& out, const std::string& text, bool is_named, const std::string& cause, Read read) {
  Document document(parse_json(text, out), out);
  if (is_named) document.set(JsonPointer("/name"), Json(document.root().at("name")), from_option("--name"));
  try {
    read(document);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{} does not give a valid file: {}", cause, error.what()));
  }
  write_output(out, text);
}

}  // namespace syncopate
