#include "store/claims.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <random>
#include <system_error>
#include <utility>

#include "base/errors.hpp"

namespace syncopate {

namespace fs = std::filesystem;

namespace {

constexpr const char* suffix = ".claim";

std::string name_this_run() {
  std::array<char, 256> host = {};
  gethostname(host.data(), host.size() - 1);
  std::random_device random;
  return fmt::format("{} process {} {:08x}", host.data(), getpid(), random());
}

/// False if there is such a file already.
bool create(const fs::path& path, const std::string& text) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): that is how it is declared
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0 && errno == EEXIST) return false;
  const bool is_written = file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int reason = errno;
  if (file >= 0) close(file);
  if (!is_written) throw OutputError(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(reason)));
  return true;
}

}  // namespace

Claims::Claims(fs::path folder, Seconds stale) : folder_(std::move(folder)), stale_(stale), run_(name_this_run()) {}

fs::path Claims::file(const std::string& key) const { return folder_ / (key + suffix); }

bool Claims::is_stale(const fs::path& claim) const {
  std::error_code is_gone;
  const auto last = fs::last_write_time(claim, is_gone);
  return !is_gone && std::chrono::duration<double>(fs::file_time_type::clock::now() - last).count() > stale_.value;
}

bool Claims::is_own(const fs::path& claim) const {
  std::string run;
  std::getline(std::ifstream(claim), run);
  return run == run_;
}

bool Claims::take(const std::string& key) const {
  const fs::path claim = file(key);
  return create(claim, run_) || is_own(claim) || (is_stale(claim) && take_over(claim));
}

bool Claims::take_over(const fs::path& claim) const {
  const fs::path right = fs::path(claim) += ".taken";
  std::error_code ignored;
  if (is_stale(right)) fs::remove(right, ignored);
  if (!create(right, run_)) return false;
  const bool is_still_stale = is_stale(claim);
  if (!is_still_stale) {
    fs::remove(right, ignored);
    return false;
  }
  std::error_code lost;  // to a run that found the right stale
  fs::rename(right, claim, lost);
  return !lost;
}

bool Claims::is_others(const std::string& key) const {
  const fs::path claim = file(key);
  std::error_code ignored;
  return fs::exists(claim, ignored) && !is_stale(claim) && !is_own(claim);
}

void Claims::refresh(const std::string& key) {
  constexpr double signs = 10.0;  // of life, until a claim were stale
  const auto now = fs::file_time_type::clock::now();
  auto& last = refreshed_[key];
  if (std::chrono::duration<double>(now - last).count() < stale_.value / signs) return;
  last = now;
  std::error_code ignored;
  if (is_own(file(key))) fs::last_write_time(file(key), now, ignored);
}

void Claims::release(const std::string& key) const {
  std::error_code ignored;
  if (is_own(file(key))) fs::remove(file(key), ignored);
}

void Claims::release_all() const {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    if (entry.path().extension() == suffix && is_own(entry.path())) fs::remove(entry.path(), ignored);
  }
}

}  // namespace syncopate
