#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/text.hpp"
#include "cluster/benchmark_formats.hpp"
#include "cluster/benchmark_lines.hpp"

namespace syncopate {

namespace {

constexpr double most_bytes = 1e15;

/// Of each operation and size, the times that a log has.
using Samples = std::map<Operation, std::map<double, std::vector<double>>>;

/// The shortest time of each size.
void take_shortest(const Samples& samples, Benchmark& benchmark) {
  benchmark.is_log = true;
  for (const auto& [operation, sizes] : samples) {
    for (const auto& [bytes, times] : sizes) {
      benchmark.operations[operation].measured.push_back({Bytes(bytes), Seconds(*std::min_element(times.begin(), times.end()))});
    }
  }
}

struct NcclName {
  std::string_view name;
  Operation operation;
  bool of_rank;  ///< its size is that of one rank's part
};
/// Sizes: NCCL, ext-profiler/inspector, inspectorComputeCollBw.
constexpr std::array nccl_names = {NcclName{"AllReduce", Operation::all_reduce, false},
                                   NcclName{"ReduceScatter", Operation::reduce_scatter, true},
                                   NcclName{"AllGather", Operation::all_gather, true}, NcclName{"Broadcast", Operation::broadcast, false}};

/// One collective of one rank.
struct Record {
  int ranks = 0;
  int nodes = 0;
  const NcclName* name = nullptr;
  double bytes = 0;
  double seconds = 0;
};

/// The record of a JSON object, or nothing if it is of a message between two ranks or of another operation.
std::optional<Record> record_of(const nlohmann::json& json, const std::string& where) {
  const auto fail = [&](const std::string& why) { throw InputError(fmt::format("{}: {}", where, why)); };
  if (!json.is_object() || !json.contains("coll_perf")) return std::nullopt;
  const nlohmann::json& timed = json["coll_perf"];
  const nlohmann::json header = json.value("header", nlohmann::json::object());
  const auto number = [&](const nlohmann::json& object, const char* key, double most) {
    const bool is_number = object.is_object() && object.contains(key) && object[key].is_number();
    const double value = is_number ? object[key].get<double>() : -1.0;
    if (!(value > 0 && value <= most))
      fail(fmt::format("\"{}\" is {}, expected a number > 0, at most {}", key, is_number ? fmt::format("{}", value) : "missing", most));
    return value;
  };
  if (!timed.is_object() || !timed.contains("coll") || !timed["coll"].is_string())
    fail("\"coll\" is missing, expected the name of a collective");
  const std::string coll = timed["coll"].get<std::string>();
  const auto name = std::find_if(nccl_names.begin(), nccl_names.end(), [&coll](const NcclName& row) { return row.name == coll; });
  if (name == nccl_names.end()) return std::nullopt;
  const auto count = [&](const char* key, int highest) {
    const double value = number(header, key, highest);
    if (value != std::floor(value)) fail(fmt::format("\"{}\" is {}, expected a whole number", key, value));
    return static_cast<int>(value);
  };
  constexpr int most = 1 << 20;
  Record record;
  record.ranks = count("n_ranks", most);
  record.nodes = count("nnodes", record.ranks);
  record.name = &*name;
  if (timed.value("coll_msg_size_bytes", Json()) == 0 || timed.value("coll_exec_time_us", Json()) == 0)
    return std::nullopt;  // nothing moved
  record.bytes = number(timed, "coll_msg_size_bytes", most_bytes) * (name->of_rank ? record.ranks : 1);
  record.seconds = 1e-6 * number(timed, "coll_exec_time_us", 1e12);
  return record;
}

/// All objects of a text that has one after the other, on lines or over several.
std::vector<Record> records_of(const std::string& file, const std::string& text) {
  std::vector<Record> records;
  std::istringstream stream(text);
  std::size_t number = 0;
  while (stream >> std::ws && !stream.eof()) {
    const std::string where = fmt::format("{}: record {}", file, ++number);
    nlohmann::json json;
    try {
      stream >> json;
    } catch (const nlohmann::json::exception& error) {
      throw InputError(fmt::format("{}: not valid JSON: {}", where, parse_error_reason(error)));
    }
    if (const auto record = record_of(json, where)) records.push_back(*record);
  }
  return records;
}

/// A file of the Inspector.
struct InspectorLog {
  std::string file;
  std::vector<Record> records;
  int ranks = 0;  ///< of its largest group
  int nodes = 0;
};

InspectorLog inspector_log_of(const TextFile& file) {
  InspectorLog log = {file.name, records_of(file.name, file.text)};
  for (const Record& record : log.records) {
    if (record.ranks <= log.ranks) continue;
    log.ranks = record.ranks;
    log.nodes = record.nodes;
  }
  return log;
}

const InspectorLog& largest_of(const std::vector<InspectorLog>& logs) {
  return *std::max_element(logs.begin(), logs.end(), [](const InspectorLog& a, const InspectorLog& b) { return a.ranks < b.ranks; });
}

/// The logs of each job. Logs with a largest group of other numbers of ranks are of another job, if it could be one on the same cluster.
/// Else these processes took no part in the largest group.
std::vector<std::vector<InspectorLog>> jobs_of(std::vector<InspectorLog> logs) {
  const InspectorLog of_most = {largest_of(logs).file, {}, largest_of(logs).ranks, largest_of(logs).nodes};
  std::map<int, std::vector<InspectorLog>> jobs;
  for (InspectorLog& log : logs) {
    if (log.ranks == of_most.ranks && log.nodes != of_most.nodes) {
      throw InputError(fmt::format("{}: {} ranks on {} nodes, but {} has them on {}; give the files of one job", log.file, log.ranks,
                                   log.nodes, of_most.file, of_most.nodes));
    }
    const bool is_alike = std::int64_t{log.ranks} * of_most.nodes == std::int64_t{of_most.ranks} * log.nodes;
    jobs[log.nodes > 1 && is_alike ? log.ranks : of_most.ranks].push_back(std::move(log));
  }
  std::vector<std::vector<InspectorLog>> result;
  for (auto& [ranks, job] : jobs) result.push_back(std::move(job));
  return result;
}

/// The times of the largest group, from all logs.
Benchmark read_job(const std::vector<InspectorLog>& logs, const BenchmarkOptions& options) {
  Benchmark benchmark = {logs.front().file, "NCCL's Inspector", largest_of(logs).ranks, largest_of(logs).nodes};
  if (logs.size() > 1) benchmark.file += fmt::format(" and {} more", logs.size() - 1);
  const auto fail = [&](const std::string& why) { throw InputError(fmt::format("{}: {}", benchmark.file, why)); };
  const std::string_view in_it = logs.size() > 1 ? "in them" : "in it";
  if (benchmark.ranks < 2) fail(fmt::format("no all-reduce, reduce-scatter, all-gather or broadcast over several ranks is {}", in_it));
  if (const std::string wrong = contradiction(options, benchmark.ranks); !wrong.empty()) fail(wrong);
  if (benchmark.ranks % benchmark.nodes != 0)
    fail(fmt::format("{} ranks on {} nodes; measure the same number on every node", benchmark.ranks, benchmark.nodes));
  std::set<int> groups;
  Samples samples;
  for (const InspectorLog& log : logs) {
    for (const Record& record : log.records) {
      groups.insert(record.ranks);
      if (record.ranks == benchmark.ranks) samples[record.name->operation][record.bytes].push_back(record.seconds);
    }
  }
  take_shortest(samples, benchmark);
  benchmark.notes.emplace_back("a training job's times: the shortest of each size, as collectives wait for the last rank");
  if (groups.size() > 1)
    benchmark.notes.push_back(fmt::format("groups of {} ranks are {}; those of {} count", fmt::join(groups, ", "), in_it, benchmark.ranks));
  return benchmark;
}

/// "1.22 MB" in bytes. DeepSpeed counts with 1024.
double bytes_of(const std::string& number, const std::string& unit) {
  constexpr std::array<std::string_view, 5> units = {"B", "KB", "MB", "GB", "TB"};
  const auto found = std::find(units.begin(), units.end(), unit);
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (found == units.end() || end == number.c_str() || *end != '\0' || !(value >= 0)) return -1;
  const double bytes = std::round(value * std::pow(1024.0, static_cast<double>(found - units.begin())));
  return bytes <= most_bytes ? bytes : -1;
}

/// The operation of DeepSpeed's name, such as "reduce_scatter_base" or "all_gather_into_tensor".
std::optional<Operation> deepspeed_operation(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, Operation>, 9> names = {{{"all_reduce", Operation::all_reduce},
                                                                            {"allreduce", Operation::all_reduce},
                                                                            {"inference_all_reduce", Operation::all_reduce},
                                                                            {"reduce_scatter", Operation::reduce_scatter},
                                                                            {"all_gather", Operation::all_gather},
                                                                            {"allgather_fn", Operation::all_gather},
                                                                            {"reduce_scatter_fn", Operation::reduce_scatter},
                                                                            {"allgather", Operation::all_gather},
                                                                            {"broadcast", Operation::broadcast}}};
  const auto found = std::find_if(names.begin(), names.end(), [&name](const auto& row) { return name.starts_with(row.first); });
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

/// DeepSpeed's size of an all-gather is that of one rank's part.
void add_sample(Operation operation, int ranks, double bytes, double seconds, Samples& samples) {
  if (bytes > 0 && seconds > 0) samples[operation][operation == Operation::all_gather ? ranks * bytes : bytes].push_back(seconds);
}

/// Bytes of "1024x4", elements and the size of one. 0 for any other text.
double bytes_of(std::string_view product) {
  const std::size_t times = product.find('x');
  if (times == std::string_view::npos) return 0;
  const auto elements = to_number(std::string(product.substr(0, times)));
  const auto each = to_number(std::string(product.substr(times + 1)));
  return elements && each ? *elements * *each : 0;
}

/// "12.3" of "time (ms): 12.3 | ..." after a label.
std::string word_after(const std::string& line, std::string_view label) {
  const std::size_t found = line.find(label);
  if (found == std::string::npos) return "";
  std::istringstream rest(line.substr(found + label.size()));
  std::string word;
  rest >> word;
  return word;
}

}  // namespace

bool is_inspector_log(const std::string& text) {
  constexpr std::size_t head_bytes = 1 << 16;
  const std::string_view head = std::string_view(text).substr(0, head_bytes);
  const std::size_t begin = head.find_first_not_of(" \t\r\n");
  const auto has = [head](std::string_view key) { return head.find(key) != std::string_view::npos; };
  return begin != std::string_view::npos && head[begin] == '{' && (has("\"coll_perf\"") || has("\"p2p_perf\""));
}

std::vector<Benchmark> read_inspector_logs(const std::vector<TextFile>& files, const BenchmarkOptions& options) {
  std::vector<InspectorLog> logs;
  for (const TextFile& file : files) {
    if (options.in_place)
      throw InputError(
          fmt::format("{}: --in-place chooses columns of nccl-tests, which NCCL's Inspector does not have; leave it out", file.name));
    logs.push_back(inspector_log_of(file));
  }
  std::vector<Benchmark> benchmarks;
  for (const std::vector<InspectorLog>& job : jobs_of(std::move(logs))) {
    benchmarks.push_back(read_job(job, options));
    finish_benchmark(benchmarks.back());
  }
  return benchmarks;
}

bool is_deepspeed_log(const std::string& text) {
  return text.find("Comm. Op") != std::string::npos ||
         (text.find("comm op: ") != std::string::npos && text.find("time (ms): ") != std::string::npos);
}

Benchmark read_deepspeed_log(const std::string& file, const std::string& text, const BenchmarkOptions& options) {
  const auto fail = [&file](const std::string& why) { throw InputError(fmt::format("{}: {}", file, why)); };
  if (options.in_place) fail("--in-place chooses columns of nccl-tests, which DeepSpeed does not have; leave it out");
  if (options.ranks < 2) fail("DeepSpeed's log does not print the number of ranks; give it with --ranks");
  Benchmark benchmark = {file, "DeepSpeed's communication log"};
  benchmark.ranks = options.ranks;
  benchmark.nodes = nodes_by_options(options, options.ranks, file);
  Samples samples;
  bool in_table = false;
  std::optional<Operation> operation;
  for (const PrintedLine& line : lines_of(file, text)) {
    const std::vector<std::string>& words = line.words;
    const auto add = [&](const std::string& size, const std::string& unit, const std::string& milliseconds) {
      const double bytes = bytes_of(size, unit);
      const std::optional<double> time = to_number(milliseconds);
      if (bytes < 0 || !time || !std::isfinite(*time) || *time < 0) {
        line.fail(fmt::format("expected a size such as \"1.22 MB\" and a time in ms, got \"{} {}\" and \"{}\"", shortened(size, 30),
                              shortened(unit, 30), shortened(milliseconds, 30)));
      }
      add_sample(*operation, options.ranks, bytes, 1e-3 * *time, samples);
    };
    if (line.contains("comm op: ")) {
      operation = deepspeed_operation(word_after(line.text, "comm op: "));
      const std::string amount = word_after(line.text, "msg size: ");
      if (operation) add(amount, word_after(line.text, fmt::format("msg size: {} ", amount)), word_after(line.text, "time (ms): "));
      continue;
    }
    if (line.contains("Breakdown with straggler effect")) break;  // a second table, with other columns
    if (line.contains(deepspeed_head)) {
      in_table = true;
    } else if (in_table && !words.empty()) {
      // Size, unit, count, total ms, average ms, throughput, bus bandwidth. Before them on the line, or on a line above, the operation.
      constexpr std::size_t columns = 7;
      const auto is_row = [&words](std::size_t first) {
        return words.size() >= first + columns && bytes_of(words[first], words[first + 1]) >= 0;
      };
      const bool has_name = !is_row(0) && (is_row(1) || words.size() == 1 || words[1].front() == '|');
      if (has_name) operation = deepspeed_operation(words.front());
      const std::size_t first = has_name ? 1 : 0;
      if (operation && is_row(first)) add(words[first], words[first + 1], words[first + 4]);
    }
  }
  if (samples.empty()) fail("no all-reduce, reduce-scatter, all-gather or broadcast is in it; print log_summary() after some steps");
  take_shortest(samples, benchmark);
  benchmark.notes.emplace_back(
      "DeepSpeed's logger synchronises before and after each operation, and rounds sizes and times: waits for late ranks are in it");
  return benchmark;
}

Benchmark read_ds_bench(const std::vector<PrintedLine>& lines, const BenchmarkOptions& options) {
  const PrintedLine& header = lines.front();
  if (options.in_place) header.fail("--in-place chooses columns of nccl-tests, which ds_bench does not have; leave it out");
  Benchmark benchmark = {header.file, "DeepSpeed's ds_bench"};
  Samples samples;
  std::optional<Operation> operation;
  for (const PrintedLine& line : lines) {
    const std::vector<std::string>& words = line.words;
    if (line.contains(ds_bench_head)) {  // "---- Performance of all_reduce on 16 devices ----"
      operation = words.size() > 5 ? deepspeed_operation(words[3]) : std::nullopt;
      if (!operation) continue;
      constexpr double most_ranks = 1 << 20;
      const double ranks = line.number_at(5, "a number of devices");
      if (ranks < 2 || ranks > most_ranks || ranks != std::floor(ranks)) line.fail("expected at least two devices");
      if (benchmark.ranks > 0 && ranks != benchmark.ranks)
        line.fail(fmt::format("{} devices, but {} above; give each run a file of its own", ranks, benchmark.ranks));
      benchmark.ranks = static_cast<int>(ranks);
    }
    // Size, its unit, elements and the size of one, time, its unit, two bandwidths. With --raw without units.
    constexpr std::size_t with_units = 7;
    constexpr std::size_t raw = 5;
    if (!operation || words.size() < raw) continue;
    const bool has_units = words.size() == with_units && (words[4] == "us" || words[4] == "ms");
    if (!has_units && words.size() != raw) continue;
    const double bytes = bytes_of(words[has_units ? 2 : 1]);
    if (!(bytes > 0 && bytes <= most_bytes)) continue;
    const double time = line.number_at(has_units ? 3 : 2, "a time");
    add_sample(*operation, benchmark.ranks, bytes, (has_units && words[4] == "ms" ? 1e-3 : 1e-6) * time, samples);
  }
  if (samples.empty()) header.fail("no all-reduce, all-gather or broadcast was timed; run ds_bench --scan");
  if (options.ranks > 0) {
    if (const std::string wrong = contradiction({.ranks = options.ranks}, benchmark.ranks); !wrong.empty()) header.fail(wrong);
  }
  benchmark.nodes = nodes_by_options(options, benchmark.ranks, header.file);
  take_shortest(samples, benchmark);
  return benchmark;
}

}  // namespace syncopate
