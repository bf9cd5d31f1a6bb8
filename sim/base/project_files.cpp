#include "base/project_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace syncopate {

namespace fs = std::filesystem;

fs::path shown(const fs::path& path) {
  const fs::path relative = path.lexically_proximate(fs::current_path());
  return relative.native().size() <= path.native().size() ? relative : path;
}

std::vector<fs::path> json_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".json" && !entry.path().filename().string().starts_with('.')) files.push_back(shown(entry.path()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

namespace {

/// Also what can be read like one, such as a pipe.
bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_directory(path, ignored);
}

fs::path folder_of_program() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

/// Where the project's files are when the program stands in PREFIX/bin.
fs::path installed_folder() { return folder_of_program().parent_path() / "share/syncopate"; }

/// Those that may have the project's files, in the order in which they are searched.
std::vector<fs::path> folders_to_search() {
  std::vector<fs::path> folders;
  const auto add_with_those_above = [&](fs::path folder) {
    for (; folder.has_relative_path(); folder = folder.parent_path()) folders.push_back(folder);
    folders.push_back(folder);
  };
  add_with_those_above(fs::current_path());
  folders.push_back(installed_folder());
  add_with_those_above(folder_of_program());
  return folders;
}

/// The first place of the project's folders that is as wanted.
template <class Predicate>
std::optional<fs::path> find_first(const fs::path& wanted, const Predicate& suits) {
  for (const fs::path& folder : folders_to_search()) {
    if (suits(folder / wanted)) return folder / wanted;
  }
  return std::nullopt;
}

/// Whether a shell finds this folder's programs by their names.
bool is_on_the_path(const fs::path& folder) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  std::error_code ignored;
  for (std::string one; std::getline(folders, one, ':');) {
    if (fs::equivalent(one, folder, ignored)) return true;
  }
  return false;
}

std::optional<fs::path> find_json_files(const fs::path& wanted) {
  return find_first(wanted, [](const fs::path& folder) { return fs::is_directory(folder) && !json_files(folder).empty(); });
}

}  // namespace

fs::path find_folder(const fs::path& wanted) {
  if (const auto found = find_json_files(wanted)) return *found;
  throw InputError(fmt::format("{}: no such folder with JSON files here or above, nor in {}; run simctl inside the project, or install it",
                               wanted.string(), installed_folder().string()));
}

std::optional<fs::path> find_file(const fs::path& wanted) { return find_first(wanted, is_file); }

std::optional<std::string> command_of_page(const std::string& page) {
  const fs::path installed = folder_of_program() / ("syncopate-" + page);
  if (is_file(installed)) return (is_on_the_path(installed.parent_path()) ? installed.filename() : shown(installed)).string();
  const auto program = find_file("analysis/" + page + ".py");
  return program ? std::optional(shown(*program).string()) : std::nullopt;
}

namespace {

struct KindRow {
  const char* name;
  const char* folder;
};
constexpr std::array kinds_of_files = {KindRow{"scenario", "scenarios"}, KindRow{"trace", "traces"}, KindRow{"model", "models"},
                                       KindRow{"device", "models/devices"}, KindRow{"cluster", "scenarios/clusters"}};

const KindRow& row_of(FileKind kind) { return kinds_of_files.at(static_cast<std::size_t>(kind)); }

/// What there is in place of what nobody has: names like it, a name that it may misspell, else all of them if they can be read.
std::string alternatives(const std::string& text, const std::vector<FileKind>& kinds) {
  std::vector<std::string> names;
  std::vector<std::string> lists;
  for (const FileKind kind : kinds) {
    lists.push_back(fmt::format("\"simctl list {}s\"", row_of(kind).name));
    const auto folder = find_json_files(folder_of(kind));
    if (!folder) continue;
    for (const fs::path& file : json_files(*folder)) names.push_back(file.stem().string());
  }
  std::vector<std::string> alike;
  std::copy_if(names.begin(), names.end(), std::back_inserter(alike),
               [&](const std::string& name) { return name.find(text) != std::string::npos; });
  if (!alike.empty()) return fmt::format("; there are {}", fmt::join(alike, ", "));
  std::string suggestion = did_you_mean(text, names);
  if (!suggestion.empty()) return suggestion;
  constexpr std::size_t most_listed = 40;
  if (names.size() > most_listed) return fmt::format("; see {}", fmt::join(lists, ", "));
  return names.empty() ? "" : fmt::format("; there are {}", fmt::join(names, ", "));
}

}  // namespace

std::string_view name_of(FileKind kind) { return row_of(kind).name; }

fs::path folder_of(FileKind kind) { return row_of(kind).folder; }

fs::path named_file(const std::string& text, const std::vector<FileKind>& kinds, const fs::path& folder) {
  if (text.find('/') != std::string::npos || text.ends_with(".json")) return folder / text;
  for (const std::string& name : {text, text + ".json"}) {
    if (is_file(folder / name)) return folder / name;
  }
  std::vector<fs::path> found;
  std::vector<std::string> names;
  for (const FileKind kind : kinds) {
    const auto file = find_file(folder_of(kind) / (text + ".json"));
    if (file) found.push_back(shown(*file));
    names.emplace_back(row_of(kind).name);
  }
  if (found.size() == 1) return found.front();
  std::error_code ignored;
  if (found.empty() && fs::exists(folder / text, ignored)) return folder / text;  // a folder, as whoever reads it will say
  if (found.empty())
    throw InputError(
        fmt::format("{}: no such file, and no {} is called that{}", text, fmt::join(names, " or "), alternatives(text, kinds)));
  std::vector<std::string> files;
  files.reserve(found.size());
  for (const fs::path& file : found) files.push_back(file.string());
  throw InputError(fmt::format("{}: several files are called that: {}; say which one", text, fmt::join(files, ", ")));
}

}  // namespace syncopate
