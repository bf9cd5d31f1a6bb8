#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/memory.hpp"

using namespace syncopate;
namespace fs = std::filesystem;

namespace {

/// Of a machine that tells this in its files.
Bytes available_on(const std::map<std::string, std::string>& files) {
  std::string root = (fs::temp_directory_path() / "syncopate-XXXXXX").string();
  REQUIRE(mkdtemp(root.data()) != nullptr);
  for (const auto& [name, content] : files) {
    fs::create_directories(fs::path(root + name).parent_path());
    std::ofstream(root + name) << content;
  }
  const Bytes available = available_memory(root);
  fs::remove_all(root);
  return available;
}

}  // namespace

TEST_SUITE("How much memory is there?") {
  TEST_CASE("what the machine has, or what control groups leave of it") {
    const std::string machine = "MemTotal: 9000 kB\nMemAvailable:    1000 kB\nBuffers: 1 kB\n";
    const std::string service = "/sys/fs/cgroup/jobs/one.service";
    const std::string old = "/sys/fs/cgroup/memory";
    struct Row {
      const char* name;
      std::map<std::string, std::string> files;
      double bytes;
    };
    const std::vector<Row> table = {
        {"nothing known", {}, std::numeric_limits<double>::infinity()},
        {"no groups", {{"/proc/meminfo", machine}}, 1024e3},
        {"no limit",
         {{"/proc/meminfo", machine},
          {"/proc/self/cgroup", "0::/jobs/one.service\n"},
          {service + "/memory.max", "max\n"},
          {service + "/memory.current", "5\n"}},
         1024e3},
        {"its group's",
         {{"/proc/meminfo", machine},
          {"/proc/self/cgroup", "0::/jobs/one.service\n"},
          {service + "/memory.max", "500000\n"},
          {service + "/memory.current", "200000\n"}},
         300e3},
        {"without what is cached",
         {{"/proc/meminfo", machine},
          {"/proc/self/cgroup", "0::/jobs/one.service\n"},
          {service + "/memory.max", "500000\n"},
          {service + "/memory.current", "200000\n"},
          {service + "/memory.stat", "anon 150000\ninactive_file 50000\n"}},
         350e3},
        {"that of a group around it",
         {{"/proc/meminfo", machine},
          {"/proc/self/cgroup", "0::/jobs/one.service\n"},
          {"/sys/fs/cgroup/jobs/memory.max", "500000\n"},
          {"/sys/fs/cgroup/jobs/memory.current", "600000\n"}},
         0.0},
        {"a container's",
         {{"/proc/meminfo", machine},
          {"/proc/self/cgroup", "0::/\n"},
          {"/sys/fs/cgroup/memory.max", "500000\n"},
          {"/sys/fs/cgroup/memory.current", "100000\n"}},
         400e3},
        {"more than the machine has",
         {{"/proc/meminfo", machine},
          {"/proc/self/cgroup", "0::/\n"},
          {"/sys/fs/cgroup/memory.max", "5000000\n"},
          {"/sys/fs/cgroup/memory.current", "100000\n"}},
         1024e3},
        {"the first version",
         {{"/proc/meminfo", machine},
          {"/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/jobs\n0::/\n"},
          {old + "/jobs/memory.limit_in_bytes", "500000\n"},
          {old + "/jobs/memory.usage_in_bytes", "300000\n"},
          {old + "/jobs/memory.stat", "inactive_file 1\ntotal_inactive_file 100000\n"}},
         300e3},
    };
    for (const Row& row : table) {
      CAPTURE(row.name);
      CHECK(available_on(row.files).value == row.bytes);
    }
  }
}
