#include "base/files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <system_error>

#include "base/errors.hpp"

namespace syncopate {

namespace fs = std::filesystem;

void require_readable_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) throw InputError(fmt::format("{}: no such file", path.string()));
  if (fs::is_directory(status)) throw InputError(fmt::format("{}: expected a file, got a folder", path.string()));
  if (fs::is_character_file(status) || fs::is_block_file(status))
    throw InputError(fmt::format("{}: expected a file, got a device", path.string()));
}

std::string read_file(const fs::path& path) {
  require_readable_file(path);
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) throw InputError(fmt::format("{}: reading failed: {}", path.string(), std::strerror(errno)));
  return std::move(text).str();
}

const std::string& read_stdin() {
  static const std::string text = [] {
    std::ostringstream all;
    all << std::cin.rdbuf();
    if (std::cin.bad()) throw InputError("stdin: reading failed");
    return std::move(all).str();
  }();
  return text;
}

void write_file(const fs::path& path, std::string_view text) {
  const fs::path temporary = path.parent_path() / fmt::format(".{}.{}.tmp", path.filename().string(), getpid());
  errno = 0;
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    out.close();
    if (!out) {
      const std::string reason = std::strerror(errno != 0 ? errno : EIO);
      std::error_code ignored;
      fs::remove(temporary, ignored);
      throw OutputError(fmt::format("{}: cannot be written: {}; choose a folder that you may write to with -o", path.string(), reason));
    }
  }
  std::error_code error;
  fs::rename(temporary, path, error);
  if (error) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw OutputError(fmt::format("{}: cannot be written: {}", path.string(), error.message()));
  }
}

void make_writable_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder)) {
    const std::string reason = error ? error.message() : "it is a file";
    throw OutputError(fmt::format("{}: cannot be made an output folder: {}; choose another with -o", folder.string(), reason));
  }
  const fs::path probe = folder / ".writable";
  write_file(probe, "");
  fs::remove(probe, error);
}

void write_output(const fs::path& out, std::string_view text) {
  if (out.has_parent_path()) make_writable_folder(out.parent_path());
  write_file(out, text);
}

void check_output(const fs::path& out, const std::vector<std::string>& inputs) {
  if (out.empty()) throw UsageError("-o: the name of a file is missing");
  if (!out.has_filename() || fs::is_directory(out))
    throw UsageError(fmt::format("-o {}: this is a folder; name a file in it", out.string()));
  for (const std::string& input : inputs) {
    std::error_code ignored;
    if (fs::equivalent(out, input, ignored))
      throw UsageError(fmt::format("-o {}: this would overwrite what is read; choose another name", out.string()));
  }
}

}  // namespace syncopate
