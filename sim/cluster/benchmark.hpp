#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cluster/link.hpp"
#include "collective/closed_form.hpp"

namespace syncopate {

/// All-reduce times from a benchmark's output, by growing size.
struct Benchmark {
  std::string file;
  std::string program;  ///< "nccl-tests", "OSU micro-benchmarks"
  int ranks = 0;
  int nodes = 0;                         ///< with equally many ranks each
  std::vector<MeasuredTime> measured{};  ///< as printed, by growing bytes
  std::optional<Link> link{};            ///< between two ranks, if it was measured
  std::vector<MeasuredTime>
      all_gathers{};  ///< by the bytes that every rank has at the end; empty if not measured; non-decreasing like `increasing`
  std::vector<MeasuredTime> increasing{};  ///< least-squares fit of `measured` with non-decreasing times; a Fit's points
};

struct BenchmarkOptions {
  int ranks = 0;          ///< > 0: if the file does not say it
  int gpus_per_node = 0;  ///< > 0: if the file does not say it; 0 means 1
  bool in_place = false;  ///< nccl-tests: read the in-place columns
};

/// Computes `increasing`, and makes the times of `all_gathers` non-decreasing. Throws InputError if there are too few points, or if all
/// take equally long.
void finish_benchmark(Benchmark& benchmark);

/// Reads the output of nccl-tests' all_reduce_perf, OSU's osu_allreduce, or netprobe. The header tells which. Throws InputError that names
/// the line if the file is something else, is truncated, contradicts itself, or says that the benchmark failed.
Benchmark read_benchmark(const std::filesystem::path& path, const BenchmarkOptions& options);
/// The same of a file's text.
Benchmark read_benchmark(const std::string& file, const std::string& text, const BenchmarkOptions& options);

/// Why `options` contradict the file, which has `ranks` ranks. Empty if they agree.
std::string contradiction(const BenchmarkOptions& options, int ranks);

/// The number of nodes that hold `ranks` ranks, by the options. Throws InputError that begins with `where`.
int nodes_by_options(const BenchmarkOptions& options, int ranks, const std::string& where);

}  // namespace syncopate
