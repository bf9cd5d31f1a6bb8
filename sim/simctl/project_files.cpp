#include "simctl/project_files.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"

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

}  // namespace

fs::path find_folder(const fs::path& wanted) {
  const auto found = find_above(wanted, [](const fs::path& folder) { return fs::is_directory(folder) && !json_files(folder).empty(); });
  if (found) return *found;
  throw InputError(fmt::format("{}: no such folder with JSON files here or above; run simctl inside the project", wanted.string()));
}

std::optional<fs::path> find_file(const fs::path& wanted) {
  return find_above(wanted, [](const fs::path& file) { return fs::is_regular_file(file); });
}

}  // namespace syncopate
