#include "base/memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

namespace syncopate {

namespace {

constexpr Bytes unlimited(std::numeric_limits<double>::infinity());

/// The number after a key at the start of a line.
std::optional<double> value_of(const std::string& file, std::string_view wanted) {
  std::ifstream lines(file);
  std::string key;
  for (double value = 0.0; lines >> key >> value; lines.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    if (key == wanted) return value;
  }
  return std::nullopt;
}

/// The number that a file holds. Nullopt for a missing file and for "max".
std::optional<double> number_in(const std::string& file) {
  double number = 0.0;
  return std::ifstream(file) >> number ? std::optional(number) : std::nullopt;
}

/// The names of the files of one version of control groups.
struct ControlGroups {
  std::string folder;
  std::string limit;
  std::string used;
  std::string cached;  ///< key in memory.stat: the part of `used` that can be reclaimed
};

Bytes left_in(const std::string& group, const ControlGroups& version) {
  constexpr double none = 1e18;  // version 1 of control groups writes a huge number for "no limit"
  const std::optional<double> limit = number_in(group + version.limit);
  if (!limit || *limit > none) return unlimited;  // skips the other files, which are slower to read
  const std::optional<double> used = number_in(group + version.used);
  if (!used) return unlimited;
  return Bytes(std::max(0.0, *limit - *used + value_of(group + "/memory.stat", version.cached).value_or(0.0)));
}

/// The least memory left in a group and its parents.
Bytes left_around(std::string group, const ControlGroups& version) {
  Bytes left = left_in(version.folder, version);
  for (; group.starts_with('/'); group.erase(group.rfind('/'))) left = std::min(left, left_in(version.folder + group, version));
  return left;
}

Bytes left_in_control_groups(const std::string& root) {
  const ControlGroups first = {root + "/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"};
  const ControlGroups second = {root + "/sys/fs/cgroup", "/memory.max", "/memory.current", "inactive_file"};
  Bytes left = unlimited;
  std::ifstream lines(root + "/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {  // number:controllers:group
    const std::size_t controllers = line.find(':') + 1;
    const std::size_t group = line.find(':', controllers) + 1;
    if (controllers == 0 || group == 0) continue;
    const std::string names = line.substr(controllers, group - controllers - 1);
    if (names.empty()) left = std::min(left, left_around(line.substr(group), second));
    if (("," + names + ",").find(",memory,") != std::string::npos) left = std::min(left, left_around(line.substr(group), first));
  }
  return left;
}

}  // namespace

Bytes available_memory(const std::string& root) {
  const std::optional<double> kibibytes = value_of(root + "/proc/meminfo", "MemAvailable:");
  return std::min(kibibytes ? Bytes(1024.0 * *kibibytes) : unlimited, left_in_control_groups(root));
}

Bytes available_addresses() {
  rlimit limit = {};
  double pages = 0.0;
  const bool is_limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  if (!is_limited || !(std::ifstream("/proc/self/statm") >> pages)) return unlimited;
  return Bytes(std::max(0.0, static_cast<double>(limit.rlim_cur) - pages * static_cast<double>(sysconf(_SC_PAGESIZE))));
}

}  // namespace syncopate
