#include "simctl/profiled_benchmark.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "base/errors.hpp"
#include "import/kineto.hpp"

namespace syncopate {

namespace {

/// Bytes of an element. 0 for an unknown type.
double size_of(std::string_view type) {
  struct Row {
    std::string_view name;
    double bytes;
  };
  constexpr std::array<Row, 8> rows = {
      {{"Float", 4}, {"BFloat16", 2}, {"Half", 2}, {"Double", 8}, {"Int", 4}, {"Long", 8}, {"Byte", 1}, {"Char", 1}}};
  const auto found = std::find_if(rows.begin(), rows.end(), [type](const Row& row) { return row.name == type; });
  return found == rows.end() ? 0.0 : found->bytes;
}

}  // namespace

bool is_profile(int file) {
  constexpr std::size_t head_bytes = 1 << 16;
  std::string head(head_bytes, '\0');
  head.resize(static_cast<std::size_t>(std::max<ssize_t>(0, pread(file, head.data(), head.size(), 0))));
  return head.starts_with("\x1f\x8b") || head.find("\"traceEvents\"") != std::string::npos ||
         head.find("\"schemaVersion\"") != std::string::npos;
}

Benchmark read_profiled_benchmark(int file, const std::string& name, const BenchmarkOptions& options) {
  const KinetoTrace trace = read_kineto(file, name);
  const auto fail = [&](const std::string& why) { throw InputError(fmt::format("{}: {}", name, why)); };
  if (options.in_place) fail("--in-place chooses columns of nccl-tests, which a profile does not have; leave it out");
  if (trace.all_reduces.empty()) {
    fail("no all-reduce of NCCL says how much it moves; profile a distributed run with PyTorch 2.2 or later and ProfilerActivity.CUDA");
  }
  Benchmark benchmark = {name, "NCCL, in a PyTorch profile"};
  const auto ranks = trace.all_reduces.front().ranks;
  std::map<double, Seconds> shortest;  // by bytes
  for (const KinetoTrace::AllReduce& all_reduce : trace.all_reduces) {
    if (all_reduce.ranks != ranks) {
      fail(fmt::format("all-reduces over {} ranks and over {} are in it; profile a run with one kind of group", ranks, all_reduce.ranks));
    }
    const double bytes = size_of(all_reduce.type) * static_cast<double>(all_reduce.elements);
    if (size_of(all_reduce.type) == 0.0)
      fail(fmt::format("an all-reduce of elements of the type \"{}\", whose size is not known", all_reduce.type));
    if (bytes <= 0.0 || all_reduce.duration <= Seconds(0)) continue;
    const auto [known, is_new] = shortest.try_emplace(bytes, all_reduce.duration);
    if (!is_new) known->second = std::min(known->second, all_reduce.duration);
  }
  constexpr std::int64_t most_ranks = 1 << 20;
  if (ranks < 2 || ranks > most_ranks) fail(fmt::format("its all-reduces are over {} ranks; at least two are needed", ranks));
  if (options.ranks > 0) {
    if (const std::string wrong = contradiction({.ranks = options.ranks}, static_cast<int>(ranks)); !wrong.empty()) fail(wrong);
  }
  benchmark.ranks = static_cast<int>(ranks);
  benchmark.nodes = nodes_by_options(options, benchmark.ranks, name);
  for (const auto& [bytes, time] : shortest) benchmark.measured.push_back({Bytes(bytes), time});
  return benchmark;
}

}  // namespace syncopate
