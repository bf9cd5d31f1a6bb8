#include "cluster/benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/files.hpp"
#include "cluster/benchmark_formats.hpp"

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

bool is_json(const std::string& text) {
  for (const char letter : text) {
    if (std::isspace(static_cast<unsigned char>(letter)) == 0) return letter == '{';
  }
  return false;
}

}  // namespace

std::string contradiction(const BenchmarkOptions& options, int ranks) {
  if (options.gpus_per_node > 0) return "--gpus-per-node is for files that do not say which ranks share a node; leave it out";
  if (options.ranks == 0 || options.ranks == ranks) return "";
  return fmt::format("{} ranks took part, but --ranks says {}; leave --ranks out", ranks, options.ranks);
}

int nodes_by_options(const BenchmarkOptions& options, int ranks, const std::string& where) {
  const int each = std::max(1, options.gpus_per_node);
  if (ranks % each != 0) throw InputError(fmt::format("{}: {} ranks are not a multiple of --gpus-per-node {}", where, ranks, each));
  return ranks / each;
}

void finish_benchmark(Benchmark& benchmark) {
  if (benchmark.measured.size() < 2) {
    throw InputError(fmt::format("{}: {} sizes were measured; measure at least two", benchmark.file, benchmark.measured.size()));
  }
  benchmark.increasing = increasing(benchmark.measured);
  benchmark.all_gathers = increasing(benchmark.all_gathers);
  if (benchmark.increasing.front().time == benchmark.increasing.back().time) {
    throw InputError(fmt::format("{}: the largest all-reduce took no longer than the smallest; measure larger ones", benchmark.file));
  }
}

Benchmark read_benchmark(const std::filesystem::path& path, const BenchmarkOptions& options) {
  return read_benchmark(path.string(), read_file(path), options);
}

Benchmark read_benchmark(const std::string& file, const std::string& text, const BenchmarkOptions& options) {
  Benchmark benchmark =
      is_json(text) ? read_json_benchmark(Document(parse_json(text, file), file), options) : read_printed_benchmark(file, text, options);
  finish_benchmark(benchmark);
  return benchmark;
}

}  // namespace syncopate
