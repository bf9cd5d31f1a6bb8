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

namespace syncopate {

namespace {

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
  record.bytes = number(timed, "coll_msg_size_bytes", 1e15) * (name->of_rank ? record.ranks : 1);
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

/// "1.22 MB" in bytes. DeepSpeed counts with 1024.
double bytes_of(const std::string& number, const std::string& unit) {
  constexpr std::array<std::string_view, 5> units = {"B", "KB", "MB", "GB", "TB"};
  const auto found = std::find(units.begin(), units.end(), unit);
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (found == units.end() || end == number.c_str() || *end != '\0' || !(value >= 0)) return -1;
  return std::round(value * std::pow(1024.0, static_cast<double>(found - units.begin())));
}

/// The operation of DeepSpeed's name, such as "reduce_scatter_base" or "all_gather_into_tensor".
std::optional<Operation> deepspeed_operation(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, Operation>, 8> names = {{{"all_reduce", Operation::all_reduce},
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

Benchmark read_inspector_log(const std::string& file, const std::string& text, const BenchmarkOptions& options) {
  const auto fail = [&file](const std::string& why) { throw InputError(fmt::format("{}: {}", file, why)); };
  if (options.in_place) fail("--in-place chooses columns of nccl-tests, which NCCL's Inspector does not have; leave it out");
  const std::vector<Record> records = records_of(file, text);
  Benchmark benchmark = {file, "NCCL's Inspector"};
  std::set<int> groups;
  for (const Record& record : records) {
    groups.insert(record.ranks);
    if (record.ranks <= benchmark.ranks) continue;
    benchmark.ranks = record.ranks;
    benchmark.nodes = record.nodes;
  }
  if (benchmark.ranks < 2) fail("no all-reduce, reduce-scatter, all-gather or broadcast over several ranks is in it");
  if (const std::string wrong = contradiction(options, benchmark.ranks); !wrong.empty()) fail(wrong);
  if (benchmark.ranks % benchmark.nodes != 0)
    fail(fmt::format("{} ranks on {} nodes; measure the same number on every node", benchmark.ranks, benchmark.nodes));
  Samples samples;
  for (const Record& record : records) {
    if (record.ranks == benchmark.ranks) samples[record.name->operation][record.bytes].push_back(record.seconds);
  }
  take_shortest(samples, benchmark);
  benchmark.notes.emplace_back("a training job's times: the shortest of each size, as collectives wait for the last rank");
  if (groups.size() > 1)
    benchmark.notes.push_back(fmt::format("groups of {} ranks are in it; those of {} count", fmt::join(groups, ", "), benchmark.ranks));
  return benchmark;
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
  std::istringstream lines(text);
  bool in_table = false;
  std::optional<Operation> operation;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto add = [&](const std::string& size, const std::string& unit, const std::string& milliseconds) {
      const double bytes = bytes_of(size, unit);
      char* end = nullptr;
      const double time = std::strtod(milliseconds.c_str(), &end);
      if (bytes < 0 || end == milliseconds.c_str() || *end != '\0' || !std::isfinite(time) || time < 0) {
        throw InputError(fmt::format("{}:{}: expected a size such as \"1.22 MB\" and a time in ms, got \"{} {}\" and \"{}\"", file, number,
                                     shortened(size, 30), shortened(unit, 30), shortened(milliseconds, 30)));
      }
      // An all-gather's size is that of one rank's part.
      const double all = *operation == Operation::all_gather ? options.ranks * bytes : bytes;
      if (bytes > 0 && time > 0) samples[*operation][all].push_back(1e-3 * time);
    };
    if (line.find("comm op: ") != std::string::npos) {
      operation = deepspeed_operation(word_after(line, "comm op: "));
      std::istringstream size(line.substr(std::min(line.size(), line.find("msg size: ") + 10)));
      std::string amount;
      std::string unit;
      size >> amount >> unit;
      if (operation) add(amount, unit, word_after(line, "time (ms): "));
      continue;
    }
    std::istringstream rest(line);
    std::vector<std::string> words;
    for (std::string word; rest >> word;) words.push_back(word);
    if (line.find("Breakdown with straggler effect") != std::string::npos) break;  // a second table, with other columns
    if (line.find("Comm. Op") != std::string::npos) {
      in_table = true;
    } else if (in_table && !words.empty()) {
      // size, unit, count, total ms, average ms, throughput, bus bandwidth; before them on the line, or on a line above, the operation
      constexpr std::size_t columns = 7;
      if (words.size() < 2 || bytes_of(words[0], words[1]) < 0) {
        operation = deepspeed_operation(words.front());
        words.erase(words.begin());
      }
      if (operation && words.size() >= columns && bytes_of(words[0], words[1]) >= 0) add(words[0], words[1], words[4]);
    }
  }
  if (samples.empty()) fail("no all-reduce, reduce-scatter, all-gather or broadcast is in it; print log_summary() after some steps");
  take_shortest(samples, benchmark);
  benchmark.notes.emplace_back(
      "DeepSpeed's logger synchronises before and after each operation, and rounds sizes and times: waits for late ranks are in it");
  return benchmark;
}

}  // namespace syncopate
