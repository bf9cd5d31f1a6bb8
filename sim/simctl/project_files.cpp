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

fs::path find_folder(const fs::path& wanted) {
  std::error_code ignored;
  for (const fs::path& start : {fs::current_path(), fs::read_symlink("/proc/self/exe", ignored).parent_path()}) {
    for (fs::path folder = start; !folder.empty(); folder = folder.parent_path()) {
      if (fs::is_directory(folder / wanted) && !json_files(folder / wanted).empty()) return folder / wanted;
      if (folder == folder.root_path()) break;
    }
  }
  throw InputError(fmt::format("{}: no such folder with JSON files here or above; run simctl inside the project", wanted.string()));
}

}  // namespace syncopate
