#include "base/project_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace syncopate {

namespace fs = std::filesystem;

std::vector<fs::path> json_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".json" && !entry.path().filename().string().starts_with('.'))
      files.push_back(entry.path().lexically_proximate(fs::current_path()));
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

/// The first place of the project's folders that is as wanted.
template <class Predicate>
std::optional<fs::path> find_above(const fs::path& wanted, const Predicate& suits) {
  std::error_code ignored;
  for (const fs::path& start : {fs::current_path(), fs::read_symlink("/proc/self/exe", ignored).parent_path()}) {
    for (fs::path folder = start; !folder.empty(); folder = folder.parent_path()) {
      if (suits(folder / wanted)) return folder / wanted;
      if (folder == folder.root_path()) break;
    }
  }
  return std::nullopt;
}

std::optional<fs::path> find_json_files(const fs::path& wanted) {
  return find_above(wanted, [](const fs::path& folder) { return fs::is_directory(folder) && !json_files(folder).empty(); });
}

}  // namespace

fs::path find_folder(const fs::path& wanted) {
  if (const auto found = find_json_files(wanted)) return *found;
  throw InputError(fmt::format("{}: no such folder with JSON files here or above; run simctl inside the project", wanted.string()));
}

std::optional<fs::path> find_file(const fs::path& wanted) { return find_above(wanted, is_file); }

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
    if (file) found.push_back(file->lexically_proximate(fs::current_path()));
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
