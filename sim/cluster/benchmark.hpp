#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cluster/regions.hpp"
#include "collective/closed_form.hpp"

namespace syncopate {

/// All-reduces of growing size as a benchmark has timed them.
struct Benchmark {
  std::string file;
  std::string program;  ///< "nccl-tests", "OSU micro-benchmarks"
  int ranks = 0;
  int nodes = 0;                            ///< with as many ranks each
  std::vector<MeasuredTime> measured{};     ///< as printed, in the order of bytes
  std::optional<Link> link{};               ///< between two ranks, where that was measured
  std::vector<MeasuredTime> all_gathers{};  ///< by the bytes that every rank has in the end, where they were measured: as `increasing`
  std::vector<MeasuredTime> increasing{};   ///< the nearest in squares of which more bytes take no less time, as a Fit's points
};

struct BenchmarkOptions {
  int ranks = 0;          ///< > 0: where the file does not say so
  int gpus_per_node = 0;  ///< > 0: likewise; else one
  bool in_place = false;  ///< nccl-tests: its second columns
};

/// Fills in `increasing`, and makes `all_gathers` such. Throws InputError when there are too few points, or none that take longer than
/// others.
void finish_benchmark(Benchmark& benchmark);

/// Reads what nccl-tests' all_reduce_perf or OSU's osu_allreduce prints, or netprobe writes, found out by its header. Throws InputError
/// that names the line when the file is of something else, cut off, or contradicts itself.
Benchmark read_benchmark(const std::filesystem::path& path, const BenchmarkOptions& options);

/// Why options that say what the file itself says are wrong; empty if they are not.
std::string contradiction(const BenchmarkOptions& options, int ranks);

/// How many nodes so many ranks are on, by the options. Throws InputError that begins with `where`.
int nodes_by_options(const BenchmarkOptions& options, int ranks, const std::string& where);

}  // namespace syncopate
