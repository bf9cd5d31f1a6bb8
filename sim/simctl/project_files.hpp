#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.hpp"

namespace syncopate {

/// A folder of the project, with JSON files: below the current folder or one around it, else around the program. Throws
/// InputError.
std::filesystem::path find_folder(const std::filesystem::path& wanted);

/// The JSON files of a folder, sorted, relative to the current folder.
std::vector<std::filesystem::path> json_files(const std::filesystem::path& folder);

/// Throws UsageError unless `out`, the value of -o, is a file name that none of `inputs` has.
void check_output(const std::filesystem::path& out, const std::vector<std::string>& inputs);

/// Writes a trace, once it has proved that it reads back. Throws InputError, which blames `cause`, and OutputError.
void write_trace_file(const std::filesystem::path& out, const Trace& trace, const std::string& cause);

/// Writes a file whole or not at all, and the folder that it is in. Throws OutputError.
void write_output(const std::filesystem::path& out, std::string_view text);

}  // namespace syncopate
