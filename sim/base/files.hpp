#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace syncopate {

/// Throws InputError unless `path` is a file: missing, a folder and a device are different mistakes.
void require_readable_file(const std::filesystem::path& path);

/// The whole content of a file. Throws InputError that names the file and why it cannot be read.
std::string read_file(const std::filesystem::path& path);

/// All of stdin, read once and kept. Throws InputError.
const std::string& read_stdin();

/// Writes `text` to `path` so that the file appears whole or not at all: a temporary file beside it, then a rename.
/// Throws OutputError, and leaves nothing behind.
void write_file(const std::filesystem::path& path, std::string_view text);

/// Creates `folder` (and its parents) and proves that files can be written in it. Throws OutputError.
void make_writable_folder(const std::filesystem::path& folder);

/// Writes a file whole or not at all, and the folder that it is in. Throws OutputError.
void write_output(const std::filesystem::path& out, std::string_view text);

/// Throws UsageError unless `out`, the value of -o, is a file name that none of `inputs` has.
void check_output(const std::filesystem::path& out, const std::vector<std::string>& inputs);

}  // namespace syncopate
