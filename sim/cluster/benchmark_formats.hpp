#pragma once

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.hpp"
#include "cluster/benchmark.hpp"
#include "cluster/benchmark_lines.hpp"

namespace syncopate {

/// Reads text output of nccl-tests or of the OSU micro-benchmarks. `increasing` is not set. Throws
/// InputError.
Benchmark read_printed_benchmark(const std::string& file, const std::string& text, const BenchmarkOptions& options);

/// What DeepSpeed prints. Of each size the shortest time counts, since collectives wait for the last rank. Throw InputError.
/// - DeepSpeed's communication logger: the table of log_summary(), or its lines "comm op: ... | time (ms): ... | msg size: ...".
/// - Tables of DeepSpeed's ds_bench, from the first head on.
bool is_deepspeed_log(const std::string& text);
Benchmark read_deepspeed_log(const std::string& file, const std::string& text, const BenchmarkOptions& options);
Benchmark read_ds_bench(const std::vector<PrintedLine>& lines, const BenchmarkOptions& options);

/// DistributedDataParallel's _get_ddp_logging_data(), as Python or JSON, also in a log and of several ranks. Of these the one with the
/// shortest communication counts, since the others wait for it. Throws InputError.
bool is_ddp_log(const std::string& text);
Benchmark read_ddp_log(const std::string& file, const std::string& text, const BenchmarkOptions& options);

/// The same for JSON: network-probe/1, the file that nccl-tests or rccl-tests write with -J, or the list that rccl-tests write with -Z
/// json. Throws InputError.
Benchmark read_json_benchmark(const Document& document, const BenchmarkOptions& options);

/// One row of nccl-tests.
struct NcclRow {
  MeasuredTime measured;
  double bus_bandwidth = 0;  ///< GB/s
  bool reduces = false;      ///< "redop" is no "none"
  bool has_root = false;     ///< "root" is a rank
};

/// The operation that rows of nccl-tests time over `ranks` ranks, by their columns. Formula of the bus bandwidth: nccl-tests,
/// doc/PERFORMANCE.md. Nullopt if it is none of all_reduce_perf, reduce_scatter_perf, all_gather_perf or broadcast_perf.
std::optional<Operation> operation_of(const std::vector<NcclRow>& rows, int ranks);

/// Why the bus bandwidth cannot be that of this operation. Empty if it can.
std::string wrong_bus_bandwidth(const NcclRow& row, Operation operation, int ranks);

/// The median of each size, if the rows are several cycles of the same sizes (-N), at least two; else the rows.
std::vector<MeasuredTime> medians_of_cycles(const std::vector<MeasuredTime>& rows);

/// The end of a message about a benchmark that says of itself that it failed.
inline constexpr std::string_view failed_run =
    "so this run failed, and its times mean nothing; repair what it complains of, and measure again";

/// The end of a message about times of an operation that no schedule uses.
inline constexpr std::string_view useful_programs =
    "no schedule uses; run all_reduce_perf, reduce_scatter_perf, all_gather_perf or broadcast_perf";

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
