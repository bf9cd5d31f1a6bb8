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
  std::map<double, std::vector<Seconds>> times;  // by bytes
  for (const KinetoTrace::AllReduce& all_reduce : trace.all_reduces) {
    if (all_reduce.ranks != ranks) {
      fail(fmt::format("all-reduces over {} ranks and over {} are in it; profile a run with one kind of group", ranks, all_reduce.ranks));
    }
    const double bytes = size_of(all_reduce.type) * static_cast<double>(all_reduce.elements);
    if (size_of(all_reduce.type) == 0.0)
      fail(fmt::format("an all-reduce of elements of the type \"{}\", whose size is not known", all_reduce.type));
    if (bytes > 0.0 && all_reduce.duration > Seconds(0)) times[bytes].push_back(all_reduce.duration);
  }
  constexpr std::int64_t most_ranks = 1 << 20;
  if (ranks < 2 || ranks > most_ranks) fail(fmt::format("its all-reduces are over {} ranks; at least two are needed", ranks));
  if (options.ranks > 0) {
    if (const std::string wrong = contradiction({.ranks = options.ranks}, static_cast<int>(ranks)); !wrong.empty()) fail(wrong);
  }
  benchmark.ranks = static_cast<int>(ranks);
  benchmark.nodes = nodes_by_options(options, benchmark.ranks, name);
  constexpr std::size_t few = 5;
  constexpr double steady = 1.5;
  std::size_t unsure = 0;
  for (auto& [bytes, samples] : times) {
    std::sort(samples.begin(), samples.end());
    benchmark.operations[Operation::all_reduce].measured.push_back({Bytes(bytes), samples.front()});
    if (samples.size() < few || samples[samples.size() / 2] > steady * samples.front()) ++unsure;
  }
  if (unsure > 0) {
    benchmark.notes.push_back(fmt::format(
        "{} of {} sizes have fewer than {} samples, or most of them wait for late ranks: that is no measurement; time them with nccl-tests",
        unsure, times.size(), few));
  }
  return benchmark;
}

}  // namespace syncopate
