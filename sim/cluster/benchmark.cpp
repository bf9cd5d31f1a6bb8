#include "cluster/benchmark.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/files.hpp"
#include "cluster/benchmark_formats.hpp"
#include "cluster/benchmark_lines.hpp"

namespace syncopate {

namespace {

/// Pools adjacent points until times do not decrease with size (isotonic regression).
std::vector<MeasuredTime> increasing(const std::vector<MeasuredTime>& measured) {
  struct Pool {
    double mean = 0.0;
    std::size_t count = 0;
  };
  std::vector<Pool> pools;
  for (const MeasuredTime& point : measured) {
    pools.push_back({point.time.value, 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean > pools.back().mean) {
      const Pool last = pools.back();
      pools.pop_back();
      Pool& pool = pools.back();
      pool.mean = (pool.mean * static_cast<double>(pool.count) + last.mean * static_cast<double>(last.count)) /
                  static_cast<double>(pool.count + last.count);
      pool.count += last.count;
    }
  }
  std::vector<MeasuredTime> result;
  for (const Pool& pool : pools) {
    for (std::size_t i = 0; i < pool.count; ++i) result.push_back({measured[result.size()].bytes, Seconds(pool.mean)});
  }
  return result;
}

/// An object, or a list of objects.
bool is_json(const std::string& text) {
  constexpr std::string_view spaces = " \t\r\n";
  std::size_t begin = text.find_first_not_of(spaces);
  if (begin != std::string::npos && text[begin] == '[') begin = text.find_first_not_of(spaces, begin + 1);
  return begin != std::string::npos && text[begin] == '{';
}

}  // namespace

std::string contradiction(const BenchmarkOptions& options, int ranks) {
  if (options.gpus_per_node > 0) return "--gpus-per-node is for files that do not say which ranks share a node; leave it out";
  if (options.ranks == 0 || options.ranks == ranks) return "";
  return fmt::format("{} ranks took part, but --ranks says {}; leave --ranks out, or give each file its own number", ranks, options.ranks);
}

int nodes_by_options(const BenchmarkOptions& options, int ranks, const std::string& where) {
  const int each = options.gpus_per_node > 0 ? options.gpus_per_node : options.gpus_of_node;
  if (each == 0)
    throw InputError(fmt::format("{}: it does not say how many of its {} ranks share a node; give it with --gpus-per-node", where, ranks));
  if (ranks % each != 0) throw InputError(fmt::format("{}: {} ranks are not a multiple of --gpus-per-node {}", where, ranks, each));
  return ranks / each;
}

void finish_benchmark(Benchmark& benchmark) {
  const auto is_alone = [](const auto& entry) { return !entry.second.line && entry.second.measured.size() < 2; };
  if (benchmark.is_log && !std::all_of(benchmark.operations.begin(), benchmark.operations.end(), is_alone)) {
    for (const auto& entry : benchmark.operations) {
      if (is_alone(entry)) benchmark.notes.push_back(fmt::format("{}s have one size, and no fit", to_string(entry.first)));
    }
    std::erase_if(benchmark.operations, is_alone);
  }
  for (auto& [operation, times] : benchmark.operations) {
    if (times.line) continue;
    if (times.measured.size() < 2) {
      throw InputError(fmt::format("{}: {} sizes of {}s were measured; measure at least two", benchmark.file, times.measured.size(),
                                   to_string(operation)));
    }
    times.increasing = increasing(times.measured);
    if (times.increasing.front().time == times.increasing.back().time) {
      throw InputError(
          fmt::format("{}: the largest {} took no longer than the smallest; measure larger ones", benchmark.file, to_string(operation)));
    }
    for (std::vector<MeasuredTime>* more : {&times.queued, &times.two_at_once}) {
      *more = increasing(*more);
      if (more->size() < 2 || more->front().time == more->back().time) more->clear();
    }
  }
}

void join(Benchmark& benchmark, const Benchmark& other) {
  for (const auto& [operation, times] : other.operations) {
    if (!benchmark.operations.emplace(operation, times).second) {
      throw InputError(fmt::format("{}: {}s over {} ranks are also in {}; give the file of one run", other.file, to_string(operation),
                                   other.ranks, benchmark.file));
    }
  }
  if (!benchmark.servers) benchmark.servers = other.servers;
  benchmark.notes.insert(benchmark.notes.end(), other.notes.begin(), other.notes.end());
}

void add_benchmark(std::vector<Benchmark>& benchmarks, Benchmark other) {
  const auto as_many = std::find_if(benchmarks.begin(), benchmarks.end(), [&](const Benchmark& one) { return one.ranks >= other.ranks; });
  if (as_many != benchmarks.end() && as_many->ranks == other.ranks && as_many->nodes == other.nodes) return join(*as_many, other);
  if (!benchmarks.empty()) {
    const Benchmark& first = benchmarks.front();
    const auto fail = [&](std::string_view why) {
      throw InputError(fmt::format("{}: {} ranks on {} nodes, but {} has {} on {}; {}", other.file, other.ranks, other.nodes, first.file,
                                   first.ranks, first.nodes, why));
    };
    if (other.ranks / other.nodes != first.ranks / first.nodes) fail("a cluster is measured with as many ranks on every node in all runs");
    if ((other.nodes == 1) != (first.nodes == 1)) fail("one node has no network in it; make a cluster of its own of that file");
  }
  benchmarks.insert(as_many, std::move(other));
}

std::string operations_of(const Benchmark& benchmark) {
  std::vector<std::string> names;
  for (const auto& [operation, times] : benchmark.operations) names.push_back(fmt::format("{}s", to_string(operation)));
  if (names.size() == 1) return names.front();
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

/// Some versions of rccl-tests write an object in each line, in place of a list of them.
std::string as_list(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{' || text.find("\"inPlace\"") == std::string::npos) return text;
  std::vector<std::string> objects;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) objects.push_back(line);
  }
  return fmt::format("[{}]", fmt::join(objects, ",\n"));
}

bool holds_benchmark(const std::string& text) {
  constexpr std::array heads = {nccl_head, osu_head, ds_bench_head};
  const auto has = [&text](std::string_view head) { return text.find(head) != std::string::npos; };
  return std::any_of(heads.begin(), heads.end(), has) || is_deepspeed_log(text) || is_ddp_log(text);
}

Benchmark read_benchmark(const std::filesystem::path& path, const BenchmarkOptions& options) {
  return read_benchmark(path.string(), read_file(path), options);
}

Benchmark read_benchmark(const std::string& file, const std::string& text, const BenchmarkOptions& options) {
  if (is_inspector_log(text)) return read_inspector_logs({{file, text}}, options).front();
  Benchmark benchmark = is_deepspeed_log(text) ? read_deepspeed_log(file, text, options)
                        : is_ddp_log(text)     ? read_ddp_log(file, text, options)
                        : is_json(text)        ? read_json_benchmark(Document(parse_json(as_list(text), file), file), options)
                                               : read_printed_benchmark(file, text, options);
  finish_benchmark(benchmark);
  return benchmark;
}

}  // namespace syncopate
