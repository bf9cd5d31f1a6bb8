#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/link.hpp"
#include "cluster/measured_servers.hpp"
#include "collective/closed_form.hpp"
#include "collective/payload.hpp"

namespace syncopate {

/// Times of one operation, by growing size: of an all-reduce, a reduce-scatter or a broadcast of `bytes` in every rank, of an all-gather of
/// `bytes` that every rank has at the end.
struct MeasuredOperation {
  std::vector<MeasuredTime> measured{};     ///< as printed
  std::optional<CostLine> line{};           ///< in place of times, if only a line is known
  std::vector<MeasuredTime> increasing{};   ///< least-squares fit of `measured` with non-decreasing times; a Fit's points
  std::vector<MeasuredTime> queued{};       ///< of one of several back to back, if that was measured; a Fit's
  std::vector<MeasuredTime> two_at_once{};  ///< until both of two at a time have ended, if that was measured; a Fit's
};

/// Times from a benchmark's output.
struct Benchmark {
  std::string file;
  std::string program;  ///< "nccl-tests", "OSU micro-benchmarks"
  int ranks = 0;
  int nodes = 0;  ///< with equally many ranks each
  std::map<Operation, MeasuredOperation> operations{};
  std::optional<Link> link{};            ///< between two ranks, if it was measured
  std::optional<Seconds> per_message{};  ///< of a processor, to send or receive a small message
  std::optional<SecondsPerByte> add{};   ///< of a processor, to add gradients
  std::optional<MeasuredServers> servers{};
  bool is_log = false;               ///< of a job, in which some operations have one size
  std::vector<std::string> notes{};  ///< what to know of the times, for people
};

struct BenchmarkOptions {
  int ranks = 0;          ///< > 0: if the file does not say it
  int gpus_per_node = 0;  ///< > 0: if the file does not say it
  int gpus_of_node = 0;   ///< > 0: of the node's topology, which stands in for gpus_per_node
  bool in_place = false;  ///< nccl-tests: read the in-place columns
};

/// Computes `increasing`, and makes `queued` and `two_at_once` so. Throws InputError if there are too few points, or if all take equally
/// long.
void finish_benchmark(Benchmark& benchmark);

/// Adds the operations of `other`, over as many ranks. Throws InputError if it has the same operation.
void join(Benchmark& benchmark, const Benchmark& other);

/// Adds a file's benchmark to those of a cluster, which are by growing ranks. Throws InputError if another one has the same operation over
/// as many ranks, or other ranks per node, or if one is of one node and another one of several.
void add_benchmark(std::vector<Benchmark>& benchmarks, Benchmark other);

/// "all-reduces and all-gathers".
std::string operations_of(const Benchmark& benchmark);

/// A file's name and what is in it.
struct TextFile {
  std::string name;
  std::string text;
};

/// Logs of NCCL's Inspector (ext-profiler/inspector): JSON records with "coll_perf", one after the other, of one process or several. All
/// files of a job are one benchmark, the shortest time of each size, since collectives wait for the last rank. Several jobs are by growing
/// ranks. Throws InputError.
bool is_inspector_log(const std::string& text);
std::vector<Benchmark> read_inspector_logs(const std::vector<TextFile>& files, const BenchmarkOptions& options);

/// Whether a log holds what one of the printing benchmarks or a training job wrote, beside something else.
bool holds_benchmark(const std::string& text);

/// Reads the output of nccl-tests, OSU's collectives, ds_bench or netprobe, or a job's log. What it says of itself tells which. Throws
/// InputError that names the line if the file is something else, is truncated, contradicts itself, or says that the benchmark failed.
Benchmark read_benchmark(const std::filesystem::path& path, const BenchmarkOptions& options);
/// The same of a file's text.
Benchmark read_benchmark(const std::string& file, const std::string& text, const BenchmarkOptions& options);

/// Why `options` contradict the file, which has `ranks` ranks. Empty if they agree.
std::string contradiction(const BenchmarkOptions& options, int ranks);

/// The number of nodes that hold `ranks` ranks, by --gpus-per-node. Throws InputError that begins with `where`, also if it is not given.
int nodes_by_options(const BenchmarkOptions& options, int ranks, const std::string& where);

}  // namespace syncopate
