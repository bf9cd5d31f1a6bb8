#include "capture/cpu/host.hpp"

#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace syncopate::capture {

namespace {

/// The text after "key   : " in a file such as /proc/cpuinfo. Empty if there is no such line.
std::string value_in(const char* file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t start = line.starts_with(key) ? line.find_first_not_of(" \t:", key.size()) : std::string::npos;
    if (start != std::string::npos) return line.substr(start);
  }
  return "";
}

std::optional<double> number_in(const std::string& text) {
  std::istringstream stream(text);
  double value = 0;
  return stream >> value ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string processor_name() {
  std::string name = value_in("/proc/cpuinfo", "model name");
  if (!name.empty()) return name;
  utsname system = {};
  uname(&system);
  return static_cast<const char*>(system.machine);
}

double processor_hertz() { return 1e6 * number_in(value_in("/proc/cpuinfo", "cpu MHz")).value_or(0); }

Bytes available_memory() {
  double available = std::numeric_limits<double>::infinity();
  if (const auto kib = number_in(value_in("/proc/meminfo", "MemAvailable"))) available = 1024 * *kib;
  if (const auto limit = number_in(value_in("/sys/fs/cgroup/memory.max", ""))) {
    available = std::min(available, *limit - number_in(value_in("/sys/fs/cgroup/memory.stat", "anon")).value_or(0));
  }
  rlimit own = {};
  if (getrlimit(RLIMIT_AS, &own) == 0 && own.rlim_cur != RLIM_INFINITY) {
    const double taken = 1024 * number_in(value_in("/proc/self/status", "VmSize")).value_or(0);
    available = std::min(available, static_cast<double>(own.rlim_cur) - taken);
  }
  return Bytes(std::max(available, 0.0));
}

}  // namespace syncopate::capture
