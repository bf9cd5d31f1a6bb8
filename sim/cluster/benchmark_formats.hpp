#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.hpp"
#include "cluster/benchmark.hpp"

namespace syncopate {

/// Reads text output of nccl-tests or of the OSU micro-benchmarks. `measured` is in the file's order; `increasing` is not set. Throws
/// InputError.
Benchmark read_printed_benchmark(const std::string& file, const std::string& text, const BenchmarkOptions& options);

/// The same for JSON: network-probe/1, or the file that nccl-tests write with -J. Throws InputError.
Benchmark read_json_benchmark(const Document& document, const BenchmarkOptions& options);

/// Why `printed` (GB/s) cannot be the bus bandwidth of this all-reduce. Formula: nccl-tests, doc/PERFORMANCE.md. Empty if it can.
std::string wrong_bus_bandwidth(double printed, const MeasuredTime& measured, int ranks);

/// The end of a message about a benchmark that says of itself that it failed.
inline constexpr std::string_view failed_run =
    "so this run failed, and its times mean nothing; repair what it complains of, and measure again";

/// A message that names hosts with different numbers of ranks. Empty if all have equally many.
std::string uneven_hosts(const std::map<std::string, int>& ranks_of);

/// Requires that `next` is larger than all sizes before it. Else calls `fail` with the reason; `fail` throws.
template <class Fail>
void require_growth(const std::vector<MeasuredTime>& measured, Bytes next, Fail fail) {
  if (measured.empty() || next > measured.back().bytes) return;
  fail(fmt::format("sizes must grow, and {:.0f} bytes come after {:.0f}; give each run a file of its own", next.value,
                   measured.back().bytes.value));
}

}  // namespace syncopate
