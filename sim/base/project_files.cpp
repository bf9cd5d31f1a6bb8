#include "base/project_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <sstream>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace syncopate {

namespace fs = std::filesystem;

fs::path shown(const fs::path& path) {
  const fs::path relative = path.lexically_proximate(fs::current_path());
  return relative.native().size() <= path.native().size() ? relative : path;
}

namespace {

/// Also true for a pipe and other things that can be read.
bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_directory(path, ignored);
}

fs::path this_program() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

fs::path folder_of_program() { return this_program().parent_path(); }

/// The project's files of a program that is installed in PREFIX/bin.
fs::path installed_folder() { return folder_of_program().parent_path() / "share/syncopate"; }

/// Whether the user or root owns it.
bool is_own(const fs::path& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && (status.st_uid == geteuid() || status.st_uid == 0);
}

/// A folder that may hold the project's files.
struct SearchedFolder {
  fs::path path;
  /// It is above the current folder, where somebody else may have put files in the user's way.
  bool is_above = false;

  /// Whether to take a file of it: from a folder above, only those that are the user's or root's, in such folders.
  bool offers(const fs::path& file) const { return !is_above || (is_own(path) && is_own(file.parent_path()) && is_own(file)); }
};

/// In search order.
std::vector<SearchedFolder> folders_to_search() {
  std::vector<SearchedFolder> folders;
  const auto add_with_those_above = [&](fs::path folder, bool may_be_others) {
    bool is_above = false;
    for (; folder.has_relative_path(); folder = folder.parent_path()) {
      folders.push_back({folder, is_above});
      is_above = may_be_others;
    }
    folders.push_back({folder, is_above});
  };
  add_with_those_above(fs::current_path(), true);
  folders.push_back({installed_folder()});
  add_with_those_above(folder_of_program(), false);
  return folders;
}

/// The first FOLDER/wanted of folders_to_search() for which `suits` is true.
template <class Predicate>
std::optional<fs::path> find_first(const fs::path& wanted, const Predicate& suits) {
  for (const SearchedFolder& folder : folders_to_search()) {
    fs::path file = folder.path / wanted;
    if (suits(file) && folder.offers(file)) return file;
  }
  return std::nullopt;
}

/// Whether the folder is in $PATH.
bool is_on_the_path(const fs::path& folder) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  std::error_code ignored;
  for (std::string name; std::getline(folders, name, ':');) {
    if (fs::equivalent(name, folder, ignored)) return true;
  }
  return false;
}

std::string command_of(const fs::path& program) {
  return (is_on_the_path(program.parent_path()) ? program.filename() : shown(program)).string();
}

}  // namespace

std::optional<fs::path> find_file(const fs::path& wanted) { return find_first(wanted, is_file); }

std::string own_command() { return command_of(this_program()); }

std::optional<std::string> command_of_page(const std::string& page) {
  const fs::path installed = folder_of_program() / ("syncopate-" + page);
  if (is_file(installed)) return command_of(installed);
  const auto program = find_file("analysis/" + page + ".py");
  return program ? std::optional(shown(*program).string()) : std::nullopt;
}

namespace {

struct KindRow {
  const char* name;
  const char* names;  ///< plural
  const char* folder;
};
constexpr std::array kinds_of_files = {KindRow{"scenario", "scenarios", "scenarios"},
                                       KindRow{"trace", "traces", "traces"},
                                       KindRow{"model", "models", "models"},
                                       KindRow{"device", "devices", "models/devices"},
                                       KindRow{"cluster", "clusters", "scenarios/clusters"},
                                       KindRow{"advice", "advice", "scenarios/advice"}};

const KindRow& row_of(FileKind kind) { return kinds_of_files.at(static_cast<std::size_t>(kind)); }

/// All files of a kind, sorted by name. Of files with the same name, the first one found.
std::vector<fs::path> find_all(FileKind kind) {
  std::map<std::string, fs::path> files;
  for (const SearchedFolder& folder : folders_to_search()) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder.path / row_of(kind).folder, ignored)) {
      const fs::path& file = entry.path();
      if (file.extension() == ".json" && !file.filename().string().starts_with('.') && folder.offers(file))
        files.try_emplace(file.stem().string(), shown(file));
    }
  }
  std::vector<fs::path> all;
  for (const auto& [name, file] : files) all.push_back(file);
  return all;
}

/// The end of a message about an unknown name: names that contain it, else the nearest name, else all names if they are few.
std::string alternatives(const std::string& text, const std::vector<FileKind>& kinds) {
  std::vector<std::string> names;
  std::vector<std::string> lists;
  for (const FileKind kind : kinds) {
    lists.push_back(fmt::format("\"simctl list {}\"", row_of(kind).names));
    for (const fs::path& file : find_all(kind)) names.push_back(file.stem().string());
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

std::vector<fs::path> project_files(FileKind kind) {
  std::vector<fs::path> files = find_all(kind);
  if (!files.empty()) return files;
  throw InputError(fmt::format("{}: no such folder with JSON files here or above, nor in {}; run simctl inside the project, or install it",
                               row_of(kind).folder, installed_folder().string()));
}

fs::path beside_program(std::string_view name) {
  std::error_code ignored;
  const fs::path beside = folder_of_program() / name;
  return fs::exists(beside, ignored) ? beside : (folder_of_program() / SYNCOPATE_LIBRARIES / name).lexically_normal();
}

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
  if (found.empty() && fs::exists(folder / text, ignored)) return folder / text;  // a folder: reading it gives the error
  if (found.empty())
    throw InputError(fmt::format("{}: no such file, and no {} has this name{}", text, fmt::join(names, " or "), alternatives(text, kinds)));
  std::vector<std::string> files;
  files.reserve(found.size());
  for (const fs::path& file : found) files.push_back(file.string());
  throw InputError(fmt::format("{}: several files have this name: {}; give the path of one", text, fmt::join(files, ", ")));
}

}  // namespace syncopate
