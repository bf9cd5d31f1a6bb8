#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <sstream>

#include "base/errors.hpp"
#include "cluster/benchmark_formats.hpp"

namespace syncopate {

namespace {

/// The words of a line, with its file and number.
struct Line {
  std::string file;
  int number = 0;
  std::string text{};
  std::vector<std::string> words{};

  bool contains(std::string_view part) const { return text.find(part) != std::string::npos; }
  [[noreturn]] void fail(const std::string& why) const { throw InputError(fmt::format("{}:{}: {}", file, number, why)); }
  double number_at(std::size_t index, std::string_view what) const {
    try {
      std::size_t used = 0;
      const double value = std::stod(words.at(index), &used);
      if (used == words[index].size() && std::isfinite(value)) return value;
    } catch (const std::exception&) {  // missing or no number: fails below
    }
    fail(fmt::format("expected {} as word {}, got \"{}\"", what, index + 1, index < words.size() ? words[index] : ""));
  }
};

std::vector<Line> lines_of(const std::string& file, const std::string& content) {
  std::istringstream text(content);
  std::vector<Line> lines;
  for (std::string text_line; std::getline(text, text_line);) {
    Line line = {file, static_cast<int>(lines.size()) + 1, text_line};
    std::istringstream words(text_line);
    for (std::string word; words >> word;) line.words.push_back(word);
    lines.push_back(std::move(line));
  }
  return lines;
}

void add_point(const Line& line, Bytes bytes, Seconds time, std::vector<MeasuredTime>& points) {
  if (bytes == Bytes(0)) return;
  if (time <= Seconds(0)) line.fail("an all-reduce takes 0 s; measure more iterations");
  require_growth(points, bytes, [&](const std::string& reason) { line.fail(reason); });
  points.push_back({bytes, time});
}

/// A row "size count type redop [root] time algbw busbw #wrong time algbw busbw #wrong": times in us, bandwidths in GB/s. #wrong is N/A
/// where nobody checked (-c 0).
void read_nccl_row(const Line& line, int ranks, bool in_place, std::vector<MeasuredTime>& points) {
  constexpr std::size_t without_root = 12;
  const std::size_t words = line.words.size();
  if (words != without_root && words != without_root + 1) {
    line.fail(fmt::format("expected the 12 or 13 columns of nccl-tests, got {} words", words));
  }
  if (std::isalpha(static_cast<unsigned char>(line.words[3].front())) == 0) {
    line.fail(fmt::format("expected a reduction such as \"sum\" as word 4, got \"{}\"", line.words[3]));
  }
  for (const std::size_t wrong : {words - 5, words - 1}) {
    if (line.words[wrong] != "N/A" && line.number_at(wrong, "a number of wrong results") != 0.0)
      line.fail(fmt::format("{} results were wrong (#wrong), {}", line.words[wrong], failed_run));
  }
  const std::size_t times = words - 8 + (in_place ? 4 : 0);
  const Bytes bytes(line.number_at(0, "bytes"));
  const Seconds time(1e-6 * line.number_at(times, "a time in microseconds"));
  add_point(line, bytes, time, points);
  const std::string reason = wrong_bus_bandwidth(line.number_at(times + 2, "a bus bandwidth"), {bytes, time}, ranks);
  if (!reason.empty()) line.fail(reason);
}

/// Whether nccl-tests or NCCL report an error in the line.
bool reports_error(const Line& line) {
  constexpr std::array<std::string_view, 4> words = {"Test NCCL failure", "Test CUDA failure", "Test failure", "# error:"};
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return line.contains(word); });
}

[[noreturn]] void fail_as_line_says(const Line& line) { line.fail(fmt::format("\"{}\", {}", fmt::join(line.words, " "), failed_run)); }

Benchmark read_nccl(const std::vector<Line>& lines, const BenchmarkOptions& options) {
  Benchmark benchmark = {lines.front().file, "nccl-tests"};
  std::map<std::string, int> hosts;
  bool is_whole = false;
  std::vector<const Line*> rows;
  for (const Line& line : lines) {
    if (line.words.empty()) continue;
    if (reports_error(line)) fail_as_line_says(line);
    is_whole = is_whole || line.contains("Avg bus bandwidth");
    const auto on = std::find(line.words.begin(), line.words.end(), "on");
    if (line.words.size() > 3 && line.words[0] == "#" && line.words[1] == "Rank" && on != line.words.end() && on + 1 != line.words.end()) {
      ++hosts[*(on + 1)];
      ++benchmark.ranks;
    } else if (std::isdigit(static_cast<unsigned char>(line.words.front().front())) != 0) {
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
  for (const Line* row : rows) read_nccl_row(*row, benchmark.ranks, options.in_place, benchmark.measured);
  const auto failed =
      std::find_if(lines.begin(), lines.end(), [](const Line& line) { return !line.words.empty() && line.words.back() == "FAILED"; });
  if (failed != lines.end()) fail_as_line_says(*failed);
  return benchmark;
}

/// The columns that OSU names in a line "# Size       Avg Latency(us)": two spaces or more lie between two names.
std::vector<std::string> columns_of(const Line& line) {
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
std::size_t time_column(const Line& line, const std::vector<std::string>& columns) {
  for (const std::string_view wanted : {"Pure Comm.", "Avg Latency", "Latency"}) {
    const auto found = std::find_if(columns.begin(), columns.end(), [&](const std::string& name) { return name.starts_with(wanted); });
    if (found != columns.end()) return static_cast<std::size_t>(found - columns.begin());
  }
  line.fail(fmt::format("expected a column \"Avg Latency(us)\" or \"Pure Comm.(us)\", got \"{}\"; keep OSU's whole output",
                        fmt::join(columns, "\", \"")));
}

/// Rows of the columns that a line "# Size ..." names, in bytes and microseconds.
Benchmark read_osu(const std::vector<Line>& lines, const BenchmarkOptions& options) {
  const Line& header = lines.front();
  Benchmark benchmark = {header.file, "OSU micro-benchmarks"};
  if (!header.contains("Allreduce")) header.fail("expected osu_allreduce's output, \"# OSU MPI Allreduce Latency Test\"");
  if (options.ranks < 2) header.fail("OSU does not print the number of ranks; give it with --ranks");
  if (options.in_place) header.fail("--in-place chooses columns of nccl-tests, which OSU does not have; leave it out");
  benchmark.ranks = options.ranks;
  benchmark.nodes = nodes_by_options(options, options.ranks, fmt::format("{}:{}", header.file, header.number));
  const auto names = std::find_if(lines.begin(), lines.end(), [](const Line& line) {
    return line.words.size() > 1 && line.words[0] == "#" && line.words[1] == "Size";
  });
  if (names == lines.end()) header.fail("no line \"# Size ...\" names the columns; keep OSU's whole output");
  const std::vector<std::string> columns = columns_of(*names);
  const std::size_t time = time_column(*names, columns);
  for (const Line& line : lines) {
    if (line.words.empty() || line.words.front().front() == '#') continue;
    if (std::find(line.words.begin(), line.words.end(), "Fail") != line.words.end())
      line.fail(fmt::format("the validation says \"Fail\", {}", failed_run));
    const Seconds measured(1e-6 * line.number_at(time, "a time in microseconds"));
    if (line.words.size() != columns.size())
      line.fail(fmt::format("expected the {} columns of line {}, got {} words", columns.size(), names->number, line.words.size()));
    add_point(line, Bytes(line.number_at(0, "bytes")), measured, benchmark.measured);
  }
  return benchmark;
}

}  // namespace

std::string wrong_bus_bandwidth(double printed, const MeasuredTime& measured, int ranks) {
  const double rate = measured.time > Seconds(0) ? 1e-9 * measured.bytes.value / measured.time.value : 0.0;
  const auto agrees = [&](double factor) { return std::abs(printed - factor * rate) <= 0.006 + 0.01 * printed; };
  if (agrees(2.0 * (ranks - 1) / ranks)) return "";
  return fmt::format("a bus bandwidth of {} GB/s is not 2(n-1)/n size/time = {:.2f} of an all-reduce over {} ranks{}", printed,
                     2.0 * (ranks - 1) / ranks * rate, ranks,
                     agrees((ranks - 1.0) / ranks) ? "; it fits an all-gather or reduce-scatter; run all_reduce_perf" : "");
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
  std::vector<Line> lines = lines_of(file, text);
  const auto found = std::find_if(lines.begin(), lines.end(), [](const Line& line) {
    return line.contains("# OSU MPI") || (line.contains("# nThread") && line.contains("minBytes"));
  });
  if (found == lines.end()) {
    throw InputError(fmt::format(
        "{}: found neither \"# nThread ... minBytes\" (nccl-tests) nor \"# OSU MPI\"; give the output of one of these, or netprobe's file",
        file));
  }
  const bool is_osu = found->contains("# OSU MPI");
  lines.erase(lines.begin(), found);
  return is_osu ? read_osu(lines, options) : read_nccl(lines, options);
}

}  // namespace syncopate
