#include "simctl/project_files.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"
#include "base/files.hpp"

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

void check_output(const fs::path& out, const std::vector<std::string>& inputs) {
  if (out.empty()) throw UsageError("-o: the name of a file is missing");
  for (const std::string& input : inputs) {
    std::error_code ignored;
    if (fs::equivalent(out, input, ignored))
      throw UsageError(fmt::format("-o {}: this would overwrite what is read; choose another name", out.string()));
  }
}

void write_trace_file(const fs::path& out, const Trace& trace, const std::string& cause) {
  const std::string text = write_trace(trace);
  try {
    read_trace(Document(parse_json(text, "the trace"), "the trace"));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{} makes no valid trace: {}", cause, error.what()));
  }
  write_output(out, text);
}

void write_output(const fs::path& out, std::string_view text) {
  if (out.has_parent_path()) make_writable_folder(out.parent_path());
  write_file(out, text);
}

}  // namespace syncopate
