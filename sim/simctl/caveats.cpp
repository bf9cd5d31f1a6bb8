#include "simctl/caveats.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

#include "base/errors.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace syncopate {

namespace {

namespace fs = std::filesystem;

std::optional<fs::path> file_of_told() {
  const auto folder = [](const char* variable) {
    const char* const text = std::getenv(variable);
    return fs::path(text == nullptr ? "" : text);
  };
  if (const fs::path cache = folder("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "syncopate" / "told";
  if (const fs::path home = folder("HOME"); home.is_absolute()) return home / ".cache" / "syncopate" / "told";
  return std::nullopt;
}

/// The first line of the file: what it remembers is of that day.
std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return fmt::format("{:%Y-%m-%d}", local);
}

/// What has been said today. Nothing where the file cannot be read.
std::set<std::string> read_told(const fs::path& file) {
  constexpr std::size_t most = 1 << 16;
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return {};
  try {
    std::istringstream text(read_file(file, most));
    std::string line;
    std::set<std::string> told;
    if (!std::getline(text, line) || line != today()) return {};
    while (std::getline(text, line)) told.insert(line);
    return told;
  } catch (const InputError&) {
    return {};
  }
}

void write_told(const fs::path& file, const std::set<std::string>& told) {
  try {
    make_writable_folder(file.parent_path());
    replace_file(file, fmt::format("{}\n{}\n", today(), fmt::join(told, "\n")), Durability::cached);
  } catch (const OutputError&) {
    return;  // then it is said again
  }
}

/// "a and b", "a, b and 3 more".
std::string some_of(const std::set<std::string>& names) {
  constexpr std::size_t most = 2;
  const std::vector<std::string> shown(names.begin(), std::next(names.begin(), static_cast<std::ptrdiff_t>(std::min(most, names.size()))));
  const std::size_t others = names.size() - shown.size();
  return others == 0 ? fmt::format("{}", fmt::join(shown, " and ")) : fmt::format("{} and {} more", fmt::join(shown, ", "), others);
}

}  // namespace

std::string caveat_of_today(const Estimates& estimates) {
  std::set<std::string> names;
  for (const std::string& trace : estimates.traces) names.insert(printable(fmt::format("trace {}", trace)));
  for (const std::string& cluster : estimates.clusters) names.insert(printable(fmt::format("cluster {}", cluster)));
  if (names.empty()) return "";
  if (const auto file = file_of_told()) {
    std::set<std::string> told = read_told(*file);
    if (std::includes(told.begin(), told.end(), names.begin(), names.end())) return "";
    told.insert(names.begin(), names.end());
    write_told(*file, told);
  }
  std::vector<std::string> parts;
  if (!estimates.traces.empty()) parts.push_back(fmt::format("times of {}", some_of(estimates.traces)));
  if (!estimates.clusters.empty()) parts.push_back(fmt::format("bandwidth of {}", some_of(estimates.clusters)));
  return fmt::format("note: estimated, not measured: {}; \"simctl show NAME\" says how; told once a day\n", fmt::join(parts, ", "));
}

}  // namespace syncopate
