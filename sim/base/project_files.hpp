#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace syncopate {

/// A file of the project: below the current folder or one around it, else where it is installed with the program, else around the program.
std::optional<std::filesystem::path> find_file(const std::filesystem::path& wanted);

/// The command that draws a page ("report" or "advice"): the installed one, else the program in analysis/, if there is any.
std::optional<std::string> command_of_page(const std::string& page);

/// The command that starts this program: its name where a shell finds it by that, else the way to it.
std::string own_command();

/// The path as a message names it: from the current folder, where that is no longer.
std::filesystem::path shown(const std::filesystem::path& path);

/// What the project has files of that may be named without their folder and ending.
enum class FileKind { scenario, trace, model, device, cluster, advice };

/// "trace", "cluster", ...
std::string_view name_of(FileKind kind);

/// The project's folder of those files.
std::filesystem::path folder_of(FileKind kind);

/// Those files, from all the places in which find_file looks, sorted by their names, each as often as named_file finds it: once. Throws
/// InputError where there is none.
std::vector<std::filesystem::path> project_files(FileKind kind);

/// The file that somebody means by `text`. With a slash or the ending .json it is a path, relative to `folder`, whether or not there is
/// such a file. Else it is a name, and means the first that there is of NAME and NAME.json in `folder`, and NAME.json among the
/// project's files of these kinds. Throws InputError for a name that none of them has, or several: with what there is.
std::filesystem::path named_file(const std::string& text, const std::vector<FileKind>& kinds, const std::filesystem::path& folder = {});

}  // namespace syncopate
