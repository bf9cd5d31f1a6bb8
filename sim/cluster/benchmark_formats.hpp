#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "base/document.hpp"
#include "cluster/benchmark.hpp"

namespace syncopate {

/// What nccl-tests or OSU's micro-benchmarks print: `measured` in the file's order, without `increasing`. Throws InputError.
Benchmark read_printed_benchmark(const std::string& file, const std::string& text, const BenchmarkOptions& options);

/// Likewise of a JSON file: network-probe/1, or what nccl-tests write with -J. Throws InputError.
Benchmark read_json_benchmark(const Document& document, const BenchmarkOptions& options);

/// Why a bus bandwidth in GB/s is not that of an all-reduce of such a time, by nccl-tests' doc/PERFORMANCE.md; empty if it is.
std::string wrong_bus_bandwidth(double printed, const MeasuredTime& measured, int ranks);

/// Which hosts have different numbers of ranks; empty if none have.
std::string uneven_hosts(const std::map<std::string, int>& ranks_of);

/// As `measured` grows: throws by calling `fail` with the reason.
template <class Fail>
void require_growth(const std::vector<MeasuredTime>& measured, Bytes next, Fail fail) {
  if (measured.empty() || next > measured.back().bytes) return;
  fail(fmt::format("sizes must grow, and {:.0f} bytes come after {:.0f}; give each run a file of its own", next.value,
                   measured.back().bytes.value));
}

}  // namespace syncopate
