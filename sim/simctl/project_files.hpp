#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace syncopate {

/// A folder of the project, with JSON files: below the current folder or one around it, else around the program. Throws
/// InputError.
std::filesystem::path find_folder(const std::filesystem::path& wanted);

/// A file of the project, below the current folder or one around it, else around the program.
std::optional<std::filesystem::path> find_file(const std::filesystem::path& wanted);

/// The JSON files of a folder, sorted, relative to the current folder.
std::vector<std::filesystem::path> json_files(const std::filesystem::path& folder);

}  // namespace syncopate
