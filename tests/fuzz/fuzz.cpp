// A libFuzzer program over the readers of files: see CONTRIBUTING.md. `--reader=NAME` says which; runs in scenarios/, whose files a mutated
// scenario names.

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "advise/advice.hpp"
#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/files.hpp"
#include "cluster/benchmark.hpp"
#include "cluster/cluster.hpp"
#include "cluster/node_topology.hpp"
#include "device/device_profile.hpp"
#include "fuzz/mutate.hpp"
#include "import/parameter_sizes.hpp"
#include "import/ranks.hpp"
#include "model/model.hpp"
#include "scenario/scenario.hpp"
#include "trace/trace.hpp"

// libFuzzer's own names.
extern "C" {
int LLVMFuzzerInitialize(const int* argc, char*** argv);
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
}

namespace syncopate::fuzz {

namespace {

using Path = std::filesystem::path;

struct Reader {
  std::string_view name;
  void (*read)(const Path& path);
};
void read_profile(const Path& path) {
  ImportSettings settings;
  settings.model = "fuzzed";
  compare_ranks(import_ranks({path}, settings));
}

constexpr std::array readers = {
    Reader{"scenario", [](const Path& path) { read_study(path.string()); }},
    Reader{"cluster", [](const Path& path) { read_cluster(Document::read(path)); }},
    Reader{"trace", [](const Path& path) { read_trace(Document::read(path)); }},
    Reader{"model", [](const Path& path) { read_model(Document::read(path)); }},
    Reader{"device", [](const Path& path) { read_device_profile(Document::read(path)); }},
    Reader{"profile", read_profile},
    Reader{"sizes", [](const Path& path) { read_parameter_sizes(path); }},
    Reader{"benchmark", [](const Path& path) { read_benchmark(path, {}); }},
    Reader{"topology", [](const Path& path) { read_node_topology(path.string(), read_file(path)); }},
    Reader{"advice", [](const Path& path) { read_advice(path); }},
};

const Reader* reader = nullptr;

/// How reading has ended, as libFuzzer counts what is new: so it learns of new errors even where the readers are not instrumented.
constexpr std::size_t outcomes = 1 << 12;
__attribute__((section("__libfuzzer_extra_counters"), used)) std::array<std::uint8_t, outcomes> seen{};

/// The rule that a message tells, without the values.
std::string pattern(std::string_view message) {
  std::string text;
  bool in_quotes = false;
  for (const char c : message) {
    if (c == '"') in_quotes = !in_quotes;
    const bool is_value = in_quotes || (c >= '0' && c <= '9');
    if (!is_value) text += c;
  }
  return text;
}

/// What every message keeps to, whatever the file holds.
void check(std::string_view message) {
  constexpr std::size_t most = 4000;
  if (message.empty() || message.size() > most) throw std::logic_error(fmt::format("a message of {} bytes", message.size()));
}

/// A file in memory that always has the same name, so that messages differ only in what they say.
class MemoryFile {
 public:
  MemoryFile() : file_(memfd_create("fuzz", MFD_CLOEXEC)) {
    if (file_ < 0) std::abort();
  }
  Path write(const std::uint8_t* data, std::size_t size) const {
    if (ftruncate(file_, 0) != 0 || pwrite(file_, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
    return fmt::format("/proc/self/fd/{}", file_);
  }

 private:
  int file_;
};

}  // namespace

}  // namespace syncopate::fuzz

int LLVMFuzzerInitialize(const int* argc, char*** argv) {
  using namespace syncopate::fuzz;
  constexpr std::string_view option = "--reader=";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view word = (*argv)[i];
    if (!word.starts_with(option)) continue;
    for (const Reader& its : readers) {
      if (its.name == word.substr(option.size())) reader = &its;
    }
  }
  if (reader != nullptr) return 0;
  fmt::print(stderr, "fuzz: say which reader:");
  for (const Reader& its : readers) fmt::print(stderr, " {}{}", option, its.name);
  fmt::print(stderr, "\n");
  std::exit(2);
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace syncopate::fuzz;
  static const MemoryFile file;
  std::string outcome = "read";
  try {
    reader->read(file.write(data, size));
  } catch (const syncopate::Error& error) {  // anything else is a fault
    check(error.what());
    outcome = pattern(error.what());
  }
  seen[std::hash<std::string>()(outcome) % outcomes] = 1;
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  constexpr unsigned one_in = 4;  // keeps to no syntax
  if (seed % one_in != 0) {
    const auto text = syncopate::fuzz::mutate_json(std::string(data, data + size), seed);
    if (text && text->size() <= most) {
      std::copy(text->begin(), text->end(), data);
      return text->size();
    }
  }
  return LLVMFuzzerMutate(data, size, most);
}
