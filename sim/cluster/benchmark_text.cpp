#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "base/errors.hpp"
#include "base/statistics.hpp"
#include "cluster/benchmark_formats.hpp"
#include "cluster/benchmark_lines.hpp"

namespace syncopate {

namespace {

/// "1-20", "21-40".
std::vector<std::string> extents_of(const std::vector<std::span<const PrintedLine>>& runs) {
  std::vector<std::string> lines;
  for (const std::span<const PrintedLine>& run : runs) lines.push_back(fmt::format("{}-{}", run.front().number, run.back().number));
  return lines;
}

/// The lines from each of `begins` to the next.
std::vector<std::span<const PrintedLine>> parts_of(const std::vector<PrintedLine>& lines, const std::vector<std::size_t>& begins) {
  std::vector<std::span<const PrintedLine>> runs;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::size_t end = i + 1 < begins.size() ? begins[i + 1] : lines.size();
    runs.emplace_back(lines.begin() + static_cast<std::ptrdiff_t>(begins[i]), lines.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return runs;
}

/// Joins the runs of a file, each of another operation over the same ranks, as `read` reads one.
template <class Read>
Benchmark read_runs(const std::vector<std::span<const PrintedLine>>& runs, Read read) {
  Benchmark benchmark = read(runs.front());
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const Benchmark next = read(runs[i]);
    const auto fail = [&](const std::string& why) {
      runs.front().front().fail(fmt::format("{} runs in one file: lines {}; {}", runs.size(), fmt::join(extents_of(runs), " and "), why));
    };
    if (next.ranks != benchmark.ranks || next.nodes != benchmark.nodes) fail("they have different ranks; give each a file of its own");
    for (const auto& [operation, times] : next.operations) {
      if (benchmark.operations.contains(operation)) fail(fmt::format("two are of {}s; give each a file of its own", to_string(operation)));
    }
    join(benchmark, next);
  }
  return benchmark;
}

void add_point(const PrintedLine& line, Bytes bytes, Seconds time, std::vector<MeasuredTime>& points) {
  if (bytes == Bytes(0)) return;
  if (time <= Seconds(0)) line.fail("it takes 0 s; measure more iterations");
  require_growth(points, bytes, [&](const std::string& reason) { line.fail(reason); });
  points.push_back({bytes, time});
}

/// The columns of nccl-tests: times in us, bandwidths in GB/s. Versions before 2.11 have no "redop" and "root" where the operation has
/// none, and the largest deviation, "error", in place of "#wrong". New ones may add columns behind "#wrong", and "timestamp", which is two
/// words.
struct NcclColumns {
  std::vector<std::string> names;
  std::vector<std::size_t> times;  ///< out of place, in place
  std::optional<std::size_t> redop;
  std::optional<std::size_t> root;
};

NcclColumns columns_of_nccl(std::vector<std::string> names) {
  NcclColumns columns;
  if (!names.empty() && names.back() == "timestamp") names.emplace_back("of day");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "time" || names[i] == "cputime") columns.times.push_back(i);
    if (names[i] == "redop") columns.redop = i;
    if (names[i] == "root") columns.root = i;
  }
  columns.names = std::move(names);
  return columns;
}

/// Those that a run's lines name, else the usual ones.
NcclColumns nccl_columns_in(std::span<const PrintedLine> lines) {
  const auto head = std::find_if(lines.begin(), lines.end(), [](const PrintedLine& line) {
    return line.words.size() > 2 && line.words[0] == "#" && line.words[1] == "size" && line.contains("busbw");
  });
  if (head != lines.end()) {
    NcclColumns columns = columns_of_nccl({head->words.begin() + 1, head->words.end()});
    if (columns.times.size() == 2 && head->contains("cputime"))
      head->fail("\"cputime\" is the host's time, not the operation's; run nccl-tests without -C");
    if (columns.times.size() == 2 && columns.times[0] >= 3 && columns.names.size() >= columns.times[1] + 3) return columns;
  }
  return columns_of_nccl(
      {"size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong"});
}

/// A row of these columns, perhaps without the root. "#wrong" is N/A where nobody checked (-c 0).
NcclRow read_nccl_row(const PrintedLine& line, bool in_place, const NcclColumns& columns) {
  const std::size_t most = columns.names.size();
  const std::size_t fewest = columns.root ? most - 1 : most;
  const std::size_t words = line.words.size();
  if (words != most && words != fewest) {
    const std::string expected = fewest == most ? std::to_string(most) : fmt::format("{} or {}", fewest, most);
    line.fail(fmt::format("expected the {} columns of nccl-tests, got {} words", expected, words));
  }
  if (columns.redop && std::isalpha(static_cast<unsigned char>(line.words[*columns.redop].front())) == 0) {
    line.fail(fmt::format("expected a reduction such as \"sum\" as word {}, got \"{}\"", *columns.redop + 1, line.words[*columns.redop]));
  }
  const std::size_t missing = most - words;
  for (std::size_t i = 0; i < most; ++i) {
    if (columns.names[i] != "#wrong") continue;
    const std::size_t wrong = i - missing;
    if (line.words[wrong] != "N/A" && line.number_at(wrong, "a number of wrong results") != 0.0)
      line.fail(fmt::format("{} results were wrong (#wrong), {}", line.words[wrong], failed_run));
  }
  const std::size_t times = columns.times[in_place ? 1 : 0] - missing;
  NcclRow row;
  row.measured = {Bytes(line.number_at(0, "bytes")), Seconds(1e-6 * line.number_at(times, "a time in microseconds"))};
  row.bus_bandwidth = line.number_at(times + 2, "a bus bandwidth");
  row.reduces = columns.redop && line.words[*columns.redop] != "none";
  row.has_root = columns.root && missing == 0 && line.number_at(*columns.root, "a root") >= 0;
  return row;
}

/// Types of elements, as nccl-tests name them.
bool is_type(std::string_view word) {
  constexpr std::array<std::string_view, 12> types = {"int8", "uint8", "int32",  "uint32",   "int64",  "uint64",
                                                      "half", "float", "double", "bfloat16", "f8e4m3", "f8e5m2"};
  return std::find(types.begin(), types.end(), word) != types.end();
}

/// Whether the line is a row, if perhaps a damaged one.
bool is_nccl_row(const PrintedLine& line) {
  constexpr std::size_t fewest = 10;
  const std::vector<std::string>& words = line.words;
  return words.size() > 2 && is_whole_number(words[0]) && is_whole_number(words[1]) && (is_type(words[2]) || words.size() >= fewest);
}

/// Whether nccl-tests or NCCL report an error in the line.
bool reports_error(const PrintedLine& line) {
  constexpr std::array<std::string_view, 4> words = {"Test NCCL failure", "Test CUDA failure", "Test failure", "# error:"};
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return line.contains(word); });
}

[[noreturn]] void fail_as_line_says(const PrintedLine& line) {
  line.fail(fmt::format("\"{}\", {}", fmt::join(line.words, " "), failed_run));
}

bool is_head(const PrintedLine& line) { return line.contains(nccl_head) && line.contains("minBytes"); }

/// The lines of each run. A run begins with the line that names its program, if there is one, else with its head.
std::vector<std::span<const PrintedLine>> runs_of(const std::vector<PrintedLine>& lines) {
  std::vector<std::size_t> begins;
  bool has_head = true;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool names = lines[i].contains(nccl_test_head);
    if (names || (is_head(lines[i]) && has_head)) begins.push_back(i);
    has_head = !names && (has_head || is_head(lines[i]));
  }
  return parts_of(lines, begins);
}

/// Whether a program of this name times what a schedule uses.
bool is_useful_program(std::string_view name) {
  constexpr std::array<std::string_view, 4> useful = {"all_reduce", "reduce_scatter", "all_gather", "broadcast"};
  return std::any_of(useful.begin(), useful.end(), [name](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

/// A rank of nccl-tests' line "#  Rank  0 Group  0 Pid  100 on HOST device  0 ...".
struct NcclRank {
  std::string number;
  std::string group;  ///< "0" where the version has none
  std::string host;
};

std::optional<NcclRank> rank_of(const PrintedLine& line) {
  const auto on = std::find(line.words.begin(), line.words.end(), "on");
  if (line.words.size() < 4 || line.words[0] != "#" || line.words[1] != "Rank" || on == line.words.end() || on + 1 == line.words.end())
    return std::nullopt;
  return NcclRank{line.words[2], line.words[3] == "Group" ? line.words[4] : "0", *(on + 1)};
}

/// Throws InputError if several programs ran, each with one rank.
void require_mpi(const std::vector<PrintedLine>& lines) {
  const auto runs = std::count_if(lines.begin(), lines.end(), is_head);
  const auto alone = std::count_if(lines.begin(), lines.end(),
                                   [](const PrintedLine& line) { return rank_of(line).has_value() && rank_of(line)->number == "0"; });
  const auto ranks = std::count_if(lines.begin(), lines.end(), [](const PrintedLine& line) { return rank_of(line).has_value(); });
  if (runs < 2 || alone != runs || ranks != runs) return;
  lines.front().fail(
      fmt::format("{} runs of one rank each: nccl-tests was built without MPI, and so mpirun started {} programs that know nothing of each "
                  "other; build it with "
                  "\"make MPI=1\"",
                  runs, runs));
}

/// Throws InputError if rows are of several types or reductions, as with -d all or -o all: then sizes are there several times.
void require_one_type(const std::vector<const PrintedLine*>& rows, const NcclColumns& columns) {
  for (const PrintedLine* row : rows) {
    for (const std::size_t column : {std::size_t{2}, columns.redop.value_or(2)}) {
      const std::vector<std::string>& first = rows.front()->words;
      if (std::max(first.size(), row->words.size()) <= column || row->words[column] == first[column]) continue;
      if (row->words.size() != first.size() || std::isalpha(static_cast<unsigned char>(row->words[column].front())) == 0) continue;
      row->fail(fmt::format("times of \"{}\", but those of line {} are of \"{}\"; run nccl-tests with one type (-d) and one reduction (-o)",
                            row->words[column], rows.front()->number, first[column]));
    }
  }
}

/// Reads the lines of one run.
Benchmark read_nccl_run(std::span<const PrintedLine> lines, const BenchmarkOptions& options) {
  Benchmark benchmark = {lines.front().file, "nccl-tests"};
  std::map<std::string, int> hosts;
  bool is_whole = false;
  std::vector<const PrintedLine*> rows;
  std::string test;
  for (const PrintedLine& line : lines) {
    if (line.words.empty()) continue;
    if (reports_error(line)) fail_as_line_says(line);
    is_whole = is_whole || line.contains("Avg bus bandwidth");
    if (line.contains(nccl_test_head)) test = line.words.back();
    if (const auto rank = rank_of(line)) {
      if (rank->group != "0")
        line.fail("its ranks are split into several groups (NCCL_TESTS_SPLIT), of which each has the times of its own; run one group");
      ++hosts[rank->host];
      ++benchmark.ranks;
    } else if (is_nccl_row(line)) {
      rows.push_back(&line);
    }
  }
  if (!is_whole) lines.back().fail("the file ends before \"# Avg bus bandwidth\", so the run was cut off; run it again");
  if (benchmark.ranks == 0) lines.front().fail("no line \"# Rank 0 ... on HOST\" names the ranks; keep nccl-tests' whole output");
  if (const std::string wrong = contradiction(options, benchmark.ranks); !wrong.empty()) lines.front().fail(wrong);
  if (benchmark.ranks == 1) lines.front().fail("one rank cannot communicate; measure at least two");
  benchmark.nodes = static_cast<int>(hosts.size());
  const std::string reason = uneven_hosts(hosts);
  if (!reason.empty()) lines.front().fail(reason);
  const NcclColumns columns = nccl_columns_in(lines);
  require_one_type(rows, columns);
  std::vector<NcclRow> times;
  for (const PrintedLine* row : rows) times.push_back(read_nccl_row(*row, options.in_place, columns));
  const std::optional<Operation> operation = operation_of(times, benchmark.ranks);
  if (!rows.empty() && (!operation || (!test.empty() && !is_useful_program(test))))
    rows.front()->fail(fmt::format("a row of an operation that {}", useful_programs));
  std::vector<MeasuredTime> measured;
  std::vector<const PrintedLine*> measured_in;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (times[i].measured.bytes == Bytes(0)) continue;
    measured.push_back(times[i].measured);
    measured_in.push_back(rows[i]);
    const std::string wrong = wrong_bus_bandwidth(times[i], *operation, benchmark.ranks);
    if (!wrong.empty()) rows[i]->fail(wrong);
  }
  measured = medians_of_cycles(measured);
  for (std::size_t i = 0; i < measured.size(); ++i)
    add_point(*measured_in[i], measured[i].bytes, measured[i].time, benchmark.operations[*operation].measured);
  const auto failed = std::find_if(lines.begin(), lines.end(),
                                   [](const PrintedLine& line) { return !line.words.empty() && line.words.back() == "FAILED"; });
  if (failed != lines.end()) fail_as_line_says(*failed);
  if (benchmark.operations.empty()) lines.front().fail("no sizes were measured; measure at least two");
  return benchmark;
}

Benchmark read_nccl(const std::vector<PrintedLine>& lines, const BenchmarkOptions& options) {
  require_mpi(lines);
  return read_runs(runs_of(lines), [&](std::span<const PrintedLine> run) { return read_nccl_run(run, options); });
}

/// The columns that OSU names in a line "# Size       Avg Latency(us)": two spaces or more lie between two names.
std::vector<std::string> columns_of(const PrintedLine& line) {
  std::vector<std::string> columns;
  std::string_view rest = std::string_view(line.text).substr(line.text.find('#') + 1);
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r"), rest.size()));
    if (rest.empty()) return columns;
    const std::size_t end = std::min({rest.find("  "), rest.find_first_of("\t\r"), rest.size()});
    columns.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
}

/// The column with the time of an all-reduce alone. Non-blocking tests also have one with the time of an all-reduce and compute (Overall).
std::size_t time_column(const PrintedLine& line, const std::vector<std::string>& columns) {
  for (const std::string_view wanted : {"Pure Comm.", "Avg Latency", "Latency"}) {
    const auto found = std::find_if(columns.begin(), columns.end(), [&](const std::string& name) { return name.starts_with(wanted); });
    if (found != columns.end()) return static_cast<std::size_t>(found - columns.begin());
  }
  line.fail(fmt::format("expected a column \"Avg Latency(us)\" or \"Pure Comm.(us)\", got \"{}\"; keep OSU's whole output",
                        fmt::join(columns, "\", \"")));
}

struct OsuTest {
  std::string_view name;
  Operation operation;
  bool of_rank;  ///< its size is that of one rank's part
};
/// Sizes: osu-micro-benchmarks, c/mpi/collective.
constexpr std::array osu_tests = {OsuTest{" Allreduce ", Operation::all_reduce, false}, OsuTest{" Allgather ", Operation::all_gather, true},
                                  OsuTest{" Reduce_scatter ", Operation::reduce_scatter, false},
                                  OsuTest{" Broadcast ", Operation::broadcast, false}};

/// Rows of the columns that a line "# Size ..." names, in bytes and microseconds. Lines that begin with no size are of other programs.
Benchmark read_osu_run(std::span<const PrintedLine> lines, const BenchmarkOptions& options) {
  const PrintedLine& header = lines.front();
  Benchmark benchmark = {header.file, "OSU micro-benchmarks"};
  const auto test = std::find_if(osu_tests.begin(), osu_tests.end(), [&](const OsuTest& one) { return header.contains(one.name); });
  if (test == osu_tests.end()) {
    header.fail(
        "expected osu_allreduce's output, \"# OSU MPI Allreduce Latency Test\", or that of osu_allgather, osu_reduce_scatter or osu_bcast");
  }
  if (options.ranks < 2) header.fail("OSU does not print the number of ranks; give it with --ranks");
  if (options.in_place) header.fail("--in-place chooses columns of nccl-tests, which OSU does not have; leave it out");
  benchmark.ranks = options.ranks;
  BenchmarkOptions by_default = options;
  by_default.gpus_per_node = std::max(1, options.gpus_per_node);
  benchmark.nodes = nodes_by_options(by_default, options.ranks, fmt::format("{}:{}", header.file, header.number));
  const auto names = std::find_if(lines.begin(), lines.end(), [](const PrintedLine& line) { return line.text.starts_with(osu_names); });
  if (names == lines.end()) header.fail("no line \"# Size ...\" names the columns; keep OSU's whole output");
  const std::vector<std::string> columns = columns_of(*names);
  const std::size_t time = time_column(*names, columns);
  std::vector<MeasuredTime>& points = benchmark.operations[test->operation].measured;
  for (const PrintedLine& line : lines) {
    if (line.words.empty() || !is_whole_number(line.words.front())) continue;
    if (std::find(line.words.begin(), line.words.end(), "Fail") != line.words.end())
      line.fail(fmt::format("the validation says \"Fail\", {}", failed_run));
    const Seconds measured(1e-6 * line.number_at(time, "a time in microseconds"));
    if (line.words.size() != columns.size())
      line.fail(fmt::format("expected the {} columns of line {}, got {} words", columns.size(), names->number, line.words.size()));
    add_point(line, (test->of_rank ? options.ranks : 1) * Bytes(line.number_at(0, "bytes")), measured, points);
  }
  return benchmark;
}

Benchmark read_osu(const std::vector<PrintedLine>& lines, const BenchmarkOptions& options) {
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].contains(osu_head)) begins.push_back(i);
  }
  return read_runs(parts_of(lines, begins), [&](std::span<const PrintedLine> run) { return read_osu_run(run, options); });
}

}  // namespace

std::optional<Operation> operation_of(const std::vector<NcclRow>& rows, int ranks) {
  // The formulas differ most where the bandwidth is large.
  const auto row =
      std::max_element(rows.begin(), rows.end(), [](const NcclRow& a, const NcclRow& b) { return a.bus_bandwidth < b.bus_bandwidth; });
  if (row == rows.end()) return std::nullopt;
  const auto agrees = [&](Operation operation) { return wrong_bus_bandwidth(*row, operation, ranks).empty(); };
  if (row->reduces && !row->has_root) {
    return agrees(Operation::reduce_scatter) && !agrees(Operation::all_reduce) ? Operation::reduce_scatter : Operation::all_reduce;
  }
  if (!row->reduces && !row->has_root && agrees(Operation::all_gather)) return Operation::all_gather;
  if (!row->reduces && row->has_root && agrees(Operation::broadcast)) return Operation::broadcast;
  return std::nullopt;
}

std::vector<MeasuredTime> medians_of_cycles(const std::vector<MeasuredTime>& rows) {
  std::size_t sizes = 1;
  while (sizes < rows.size() && rows[sizes].bytes != rows.front().bytes) ++sizes;
  if (sizes >= rows.size() || rows.size() % sizes != 0) return rows;
  std::vector<std::vector<Seconds>> times(sizes);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].bytes != rows[i % sizes].bytes) return rows;
    times[i % sizes].push_back(rows[i].time);
  }
  std::vector<MeasuredTime> medians;
  constexpr double middle = 0.5;
  for (std::size_t i = 0; i < sizes; ++i) {
    std::sort(times[i].begin(), times[i].end());
    medians.push_back({rows[i].bytes, quantile(times[i], middle)});
  }
  return medians;
}

std::string wrong_bus_bandwidth(const NcclRow& row, Operation operation, int ranks) {
  const double rate = row.measured.time > Seconds(0) ? 1e-9 * row.measured.bytes.value / row.measured.time.value : 0.0;
  const double others = (ranks - 1.0) / ranks;
  const bool is_all_reduce = operation == Operation::all_reduce;
  const bool is_broadcast = operation == Operation::broadcast;
  const double factor = is_all_reduce ? 2.0 * others : is_broadcast ? 1.0 : others;
  if (std::abs(row.bus_bandwidth - factor * rate) <= 0.006 + 0.01 * row.bus_bandwidth) return "";
  const std::string_view formula = is_all_reduce ? "2(n-1)/n size/time" : is_broadcast ? "size/time" : "(n-1)/n size/time";
  return fmt::format("a bus bandwidth of {} GB/s is not {} = {:.2f} of {} {} over {} ranks", row.bus_bandwidth, formula, factor * rate,
                     is_all_reduce || operation == Operation::all_gather ? "an" : "a", to_string(operation), ranks);
}

std::string uneven_hosts(const std::map<std::string, int>& ranks_of) {
  const auto& [first, each] = *ranks_of.begin();
  for (const auto& [host, ranks] : ranks_of) {
    if (ranks != each)
      return fmt::format("{} has {} ranks, but {} has {}; measure the same number on every host", first, each, host, ranks);
  }
  return "";
}

Benchmark read_printed_benchmark(const std::string& file, const std::string& text, const BenchmarkOptions& options) {
  std::vector<PrintedLine> lines = lines_of(file, text);
  const auto found = std::find_if(lines.begin(), lines.end(), [](const PrintedLine& line) {
    return line.contains(osu_head) || line.contains(nccl_test_head) || line.contains(ds_bench_head) || is_head(line);
  });
  if (found == lines.end()) {
    throw InputError(
        fmt::format("{}: found neither \"# nThread ... minBytes\" (nccl-tests) nor \"# OSU\", nor what NCCL's Inspector, DeepSpeed, "
                    "DistributedDataParallel, "
                    "netprobe or nvidia-smi topo -m write; give the whole output of one of these",
                    file));
  }
  lines.erase(lines.begin(), found);
  if (lines.front().contains(ds_bench_head)) return read_ds_bench(lines, options);
  return lines.front().contains(osu_head) ? read_osu(lines, options) : read_nccl(lines, options);
}

}  // namespace syncopate
