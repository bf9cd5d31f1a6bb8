#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "collective/closed_form.hpp"

namespace syncopate {

/// All-reduces of growing size as a benchmark has timed them.
struct Benchmark {
  std::string file;
  std::string program;  ///< "nccl-tests", "OSU micro-benchmarks"
  int ranks = 0;
  int nodes = 0;                           ///< with as many ranks each
  std::vector<MeasuredTime> measured{};    ///< as printed, in the order of bytes
  std::vector<MeasuredTime> increasing{};  ///< the nearest in squares of which more bytes take no less time, as a Fit's points
};

struct BenchmarkOptions {
  int ranks = 0;          ///< > 0: where the file does not say so
  bool in_place = false;  ///< nccl-tests: its second columns
};

/// Reads what nccl-tests' all_reduce_perf or OSU's osu_allreduce prints, found out by its header. Throws InputError that names the line
/// when the file is of something else, cut off, or contradicts itself.
Benchmark read_benchmark(const std::filesystem::path& path, const BenchmarkOptions& options);

}  // namespace syncopate
