#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace syncopate {

/// Finds a file of the project. Searches the current folder and its parents, then the installation of this program, then the program's
/// folder and its parents. Above the current folder, files that neither the user nor root owns are left out, and those in such folders.
std::optional<std::filesystem::path> find_file(const std::filesystem::path& wanted);

/// The command that makes a page ("report" or "advice"): the installed command, else the program in analysis/. Nullopt if neither exists.
std::optional<std::string> command_of_page(const std::string& page);

/// The command that starts this program: its name if its folder is in $PATH, else its path.
std::string own_command();

/// The path for a message: relative to the current folder, unless that is longer.
std::filesystem::path shown(const std::filesystem::path& path);

/// A file of the program's own: beside it, or where an installation puts it.
std::filesystem::path beside_program(std::string_view name);

/// Kinds of files that the user may name without folder and ending.
enum class FileKind { scenario, trace, model, device, cluster, advice };

/// "trace", "cluster", ...
std::string_view name_of(FileKind kind);

/// The project's folder of those files.
std::filesystem::path folder_of(FileKind kind);

/// All files of a kind from the places that find_file searches, sorted by name. Of files with the same name, the first one found. Throws
/// InputError if there is none.
std::vector<std::filesystem::path> project_files(FileKind kind);

/// The file that the user names by `text`.
/// - With a slash or the ending .json it is a path relative to `folder`. The file need not exist.
/// - Else it is a name: NAME or NAME.json in `folder`, else NAME.json among the project's files of these kinds.
/// Throws InputError with suggestions for an unknown name, and for a name that several kinds have.
std::filesystem::path named_file(const std::string& text, const std::vector<FileKind>& kinds, const std::filesystem::path& folder = {});

}  // namespace syncopate
