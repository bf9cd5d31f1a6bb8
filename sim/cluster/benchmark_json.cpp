#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/fields.hpp"
#include "base/indexed.hpp"
#include "base/statistics.hpp"
#include "cluster/benchmark_formats.hpp"
#include "cluster/benchmark_lines.hpp"

namespace syncopate {

namespace {

constexpr std::int64_t most_ranks = 1 << 20;
constexpr double longest_s = 1e6;
constexpr double fastest_Bps = 1e15;
constexpr double microseconds = 1e-6;

/// The median of "[first quartile, median, third quartile]".
Seconds median_of(const Field& quartiles) {
  const std::vector<Field> values = quartiles.list();
  if (values.size() != 3) quartiles.fail("[first quartile, median, third quartile]");
  for (const Field& value : values) value.positive(longest_s);
  return Seconds(values[1].positive(longest_s));
}

std::vector<MeasuredTime> sizes_of(const Field& list) {
  std::vector<MeasuredTime> times;
  for (const Field& element : list.list()) {
    Object size(element);
    const MeasuredTime time = {size.at("bytes").bytes(), median_of(size.at("quartiles_s"))};
    size.find("repetitions");
    size.finish();
    if (!times.empty() && time.bytes <= times.back().bytes) size.at("bytes").fail("more bytes than in the element before");
    times.push_back(time);
  }
  return times;
}

Link link_of(const Field& list, int ranks) {
  std::vector<Seconds> latencies;
  std::vector<Rate> bandwidths;
  for (const Field& element : list.list()) {
    Object pair(element);
    const auto from = pair.at("from").integer(0, ranks - 1);
    if (pair.at("to").integer(0, ranks - 1) == from) pair.at("to").fail("another rank than \"from\"");
    latencies.push_back(median_of(pair.at("latency_s")));
    bandwidths.emplace_back(pair.at("bandwidth_Bps").positive(fastest_Bps));
    pair.finish();
  }
  std::sort(latencies.begin(), latencies.end());
  std::sort(bandwidths.begin(), bandwidths.end());
  constexpr double middle = 0.5;
  return {.bandwidth = quantile(bandwidths, middle), .latency = quantile(latencies, middle)};
}

/// What the clients of servers, the other ones of so many ranks, pushed and pulled.
MeasuredServers servers_of(const Field& field, int ranks) {
  Object servers(field);
  MeasuredServers measured;
  measured.servers = static_cast<int>(servers.at("count").integer(1, ranks - 1));
  measured.clients = ranks - measured.servers;
  measured.push = sizes_of(servers.at("push"));
  measured.pull = sizes_of(servers.at("pull"));
  measured.both = sizes_of(servers.at("both"));
  if (measured.push.size() < 2) servers.at("push").fail_because("1 size was measured; measure at least two");
  const auto same = [](const MeasuredTime& a, const MeasuredTime& b) { return a.bytes == b.bytes; };
  for (const auto& [key, times] : {std::pair("pull", &measured.pull), std::pair("both", &measured.both)}) {
    if (!std::equal(times->begin(), times->end(), measured.push.begin(), measured.push.end(), same))
      servers.at(key).fail_because("has other sizes than \"push\"; measure the same ones");
  }
  const auto of_one = [&](const Field& list) {
    const std::vector<MeasuredTime> times = sizes_of(list);
    if (times.size() != 1 || times.front().bytes != measured.push.front().bytes)
      list.fail_because("has other sizes than the smallest one of \"push\"; measure that one");
    return times.front().time;
  };
  if (servers.find("push_of_one") || servers.find("pull_of_one"))
    measured.of_one = {of_one(servers.at("push_of_one")), of_one(servers.at("pull_of_one"))};
  servers.finish();
  return measured;
}

Benchmark read_probe(const Document& document, const BenchmarkOptions& options) {
  Object probe{Field(document)};
  probe.format("network-probe/1", true);
  Benchmark benchmark = {document.file(), "netprobe"};
  for (const char* key : {"provenance", "timing"}) probe.find(key);
  const std::string library = probe.at("library").text();
  benchmark.program = fmt::format("netprobe, {}", library);
  // MPI's processes poll while they wait, so that their processors' time is about a latency.
  const Seconds per_message = probe.at("host_s_per_message").seconds();
  if (library.starts_with("gloo")) benchmark.per_message = per_message;
  benchmark.add = probe.at("add_s_per_B").seconds_per_byte();
  benchmark.ranks = static_cast<int>(probe.at("ranks").integer(2, most_ranks));
  benchmark.nodes = static_cast<int>(probe.at("nodes").integer(1, benchmark.ranks));
  std::map<std::string, int> hosts;
  for (const Field& host : probe.at("hosts").list()) ++hosts[host.text()];
  const std::size_t named = probe.at("hosts").list().size();
  if (named != at(benchmark.ranks) || hosts.size() != at(benchmark.nodes)) {
    probe.at("hosts").fail_because(
        fmt::format("{} hosts with {} different names, but {} ranks on {} nodes; expected a host per rank and a name per node", named,
                    hosts.size(), benchmark.ranks, benchmark.nodes));
  }
  const std::string reason = uneven_hosts(hosts);
  if (!reason.empty()) probe.at("hosts").fail_because(reason);
  if (const std::string wrong = contradiction(options, benchmark.ranks); !wrong.empty()) probe.at("ranks").fail_because(wrong);
  if (options.in_place) probe.field().fail_because("--in-place chooses columns of nccl-tests, which netprobe does not have; leave it out");
  benchmark.operations[Operation::all_reduce] = {.measured = sizes_of(probe.at("all_reduce")),
                                                 .queued = sizes_of(probe.at("queued")),
                                                 .two_at_once = sizes_of(probe.at("two_at_once"))};
  std::vector<MeasuredTime> all_gathers;
  if (!probe.at("all_gather").json().empty()) all_gathers = sizes_of(probe.at("all_gather"));
  for (MeasuredTime& time : all_gathers) time.bytes = benchmark.ranks * time.bytes;
  if (all_gathers.size() > 1 && all_gathers.front().time < all_gathers.back().time)
    benchmark.operations[Operation::all_gather].measured = std::move(all_gathers);
  const Link link = link_of(probe.at("pairs"), benchmark.ranks);
  benchmark.link = link;
  if (const auto servers = probe.find("servers")) benchmark.servers = servers_of(*servers, benchmark.ranks);
  probe.finish();
  return benchmark;
}

/// Throws InputError if some results of these all-reduces were wrong. Results that nobody checked (-c 0) are null.
void require_right(const Field& timed) {
  if (!timed.is_object()) return;
  const auto wrong = Object(timed).find("nwrong");
  if (wrong && wrong->json().is_number() && wrong->json() != 0)
    wrong->fail_because(fmt::format("{} results were wrong, {}", wrong->json().dump(), failed_run));
}

/// Throws InputError if nccl-tests say that the run failed.
void require_success(Object& run) {
  for (const char* key : {"out_of_bounds", "average_bus_bandwidth"}) {
    const auto part = run.find(key);
    if (!part || !part->is_object()) continue;
    const auto okay = Object(*part).find("okay");
    if (okay && (okay->json() == false || okay->json() == "false"))
      okay->fail_because(fmt::format("is {}, {}", okay->json().dump(), failed_run));
  }
  const auto errors = run.find("errors");
  if (!errors || !errors->is_list() || errors->json().empty()) return;
  for (const Field& error : errors->list()) {
    if (!(error.json().is_string() && error.json().get_ref<const std::string&>().empty()))
      error.fail_because(fmt::format("NCCL says {}, {}", excerpt(error.json()), failed_run));
  }
}

/// nccl-tests write times in microseconds, bandwidths in GB/s, and unknown values as null or "nan".
NcclRow nccl_result(const Field& element, bool in_place) {
  Object result(element);
  for (const char* key : {"count", "type", "actual_iterations", "experiment_name", "in_place_per_iter", "out_of_place_per_iter",
                          in_place ? "out_of_place" : "in_place"})
    result.find(key);
  const bool reduces = result.at("redop").text() != "none";
  const auto root = result.find("root");
  const Field timed = result.at(in_place ? "in_place" : "out_of_place");
  result.at("size");
  result.finish();
  for (const char* key : {"out_of_place", "in_place"}) {
    if (const auto columns = result.find(key)) require_right(*columns);
  }
  if (!timed.is_object())
    timed.fail_because(in_place ? "was not measured; leave --in-place out" : "was not measured; use --in-place for the other times");
  Object times(timed);
  for (const char* key : {"alg_bw", "nwrong", "bitwise"}) times.find(key);
  if (times.find("cpu_time")) times.at("cpu_time").fail_because("is the host's time, not the all-reduce's; run nccl-tests without -C");
  const Bytes bytes(result.at("size").number(0, 1e15));
  if (bytes == Bytes(0)) return {};
  const MeasuredTime measured = {bytes, Seconds(microseconds * times.at("time").positive(longest_s / microseconds))};
  const double bus_bandwidth = times.at("bus_bw").number(0, fastest_Bps);
  times.finish();
  return {measured, bus_bandwidth, reduces, root && root->json().is_number() && root->json() >= 0};
}

Benchmark read_nccl(const Document& document, const BenchmarkOptions& options) {
  Object run{Field(document)};
  Benchmark benchmark = {document.file(), "nccl-tests"};
  if (const auto arguments = run.find("args"); arguments && arguments->is_list()) {
    const Json& words = arguments->json();
    if (!words.empty() && words.front().is_string() && words.front().get<std::string>().find("alltoall") != std::string::npos) {
      arguments->fail_because(fmt::format("are those of alltoall_perf, which {}", useful_programs));
    }
  }
  for (const char* key : {"version", "start_time", "end_time", "env", "nccl_version", "rccl_version"}) run.find(key);
  if (!run.find("average_bus_bandwidth"))
    run.field().fail_because("has no \"average_bus_bandwidth\", so the run was cut off; run it again");
  Object config(run.at("config"));
  std::map<std::string, int> hosts;
  for (const Field& device : config.at("devices").list()) {
    ++hosts[Object(device).at("hostname").text()];
    ++benchmark.ranks;
  }
  if (benchmark.ranks == 1) config.at("devices").fail_because("one rank cannot communicate; measure at least two");
  if (const std::string wrong = contradiction(options, benchmark.ranks); !wrong.empty()) config.at("devices").fail_because(wrong);
  const std::string reason = uneven_hosts(hosts);
  if (!reason.empty()) config.at("devices").fail_because(reason);
  benchmark.nodes = static_cast<int>(hosts.size());
  const std::vector<Field> results = run.at("results").list();
  std::vector<NcclRow> rows;
  for (const Field& result : results) rows.push_back(nccl_result(result, options.in_place));
  const std::optional<Operation> operation = operation_of(rows, benchmark.ranks);
  if (!operation) {
    run.at("results").fail_because(fmt::format("are of an operation that {}", useful_programs));
  }
  std::vector<MeasuredTime> all;
  std::vector<Field> all_in;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].measured.bytes == Bytes(0)) continue;
    const std::string wrong = wrong_bus_bandwidth(rows[i], *operation, benchmark.ranks);
    if (!wrong.empty()) Object(results[i]).at(options.in_place ? "in_place" : "out_of_place").fail_because(wrong);
    all.push_back(rows[i].measured);
    all_in.push_back(results[i]);
  }
  std::vector<MeasuredTime>& measured = benchmark.operations[*operation].measured;
  all = medians_of_cycles(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    require_growth(measured, all[i].bytes, [&](const std::string& why) { all_in[i].fail_because(why); });
    measured.push_back(all[i]);
  }
  require_success(run);
  run.finish();
  return benchmark;
}

/// The operation of a name that rccl-tests give, or nullopt if no schedule uses it.
std::optional<Operation> rccl_operation(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, Operation>, 4> names = {{{"AllReduce", Operation::all_reduce},
                                                                            {"ReduceScatter", Operation::reduce_scatter},
                                                                            {"AllGather", Operation::all_gather},
                                                                            {"Broadcast", Operation::broadcast}}};
  const auto found = std::find_if(names.begin(), names.end(), [&name](const auto& row) { return row.first == name; });
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

/// A list of rows, each with what the run was. In several cycles each size is timed again: their median counts.
Benchmark read_rccl(const Document& document, const BenchmarkOptions& options) {
  Benchmark benchmark = {document.file(), "rccl-tests"};
  const std::vector<Field> rows = Field(document).list();
  const std::string type = Object(rows.front()).at("type").text();
  std::map<Operation, std::map<double, std::vector<double>>> times;  // by size
  std::map<Operation, std::string> reductions;
  for (const Field& element : rows) {
    Object row(element);
    int ranks = options.ranks;
    int nodes = 0;
    if (const auto processes = row.find("ranks")) {
      const auto each = row.find("gpusPerRank");
      ranks = static_cast<int>(processes->integer(1, most_ranks) * (each ? each->integer(1, 1024) : 1));
      nodes = static_cast<int>(row.at("nodes").integer(1, ranks));
      if (ranks < 2) processes->fail_because("one rank cannot communicate; measure at least two");
      if (ranks % nodes != 0)
        processes->fail_because(fmt::format("{} ranks on {} nodes; measure the same number on every node", ranks, nodes));
      if (const std::string wrong = contradiction(options, ranks); !wrong.empty()) processes->fail_because(wrong);
    } else {
      if (const auto gpus = row.find("gpus"); gpus && ranks == 0)
        ranks = static_cast<int>(gpus->integer(1, most_ranks));  // built without MPI
      if (ranks < 2) element.fail_because("does not tell the number of ranks; give it with --ranks");
      nodes = nodes_by_options(options, ranks, document.file());
    }
    if (benchmark.ranks > 0 && (ranks != benchmark.ranks || nodes != benchmark.nodes))
      element.fail_because("has other ranks than the rows above; give each run a file of its own");
    benchmark.ranks = ranks;
    benchmark.nodes = nodes;
    if (row.at("type").text() != type)
      row.at("type").fail_because(fmt::format("is not {}, as above; run rccl-tests with one type (-d)", type));
    const std::optional<Operation> operation = rccl_operation(row.at("name").text());
    if (!operation) row.at("name").fail_because(fmt::format("is of an operation that {}", useful_programs));
    const Field wrong = row.at("wrong");
    const std::string count = wrong.json().is_string() ? wrong.text() : wrong.json().dump();
    if (count != "0" && count != "N/A" && count != "null") wrong.fail_because(fmt::format("{} results were wrong, {}", count, failed_run));
    if (const auto reduction = row.find("redop"); reduction && reduction->is_text()) {
      const std::string& first = reductions.try_emplace(*operation, reduction->text()).first->second;
      if (reduction->text() != first)
        reduction->fail_because(fmt::format("is not {}, as above; run rccl-tests with one reduction (-o)", first));
    }
    if ((row.at("inPlace").integer(0, 1) == 1) != options.in_place) continue;
    MeasuredTime measured = {Bytes(row.at("size").number(0, 1e15)),
                             Seconds(microseconds * row.at("time").number(0, longest_s / microseconds))};
    if (measured.bytes == Bytes(0)) continue;
    if (measured.time == Seconds(0)) row.at("time").fail_because("is 0; measure more iterations");
    const double bus_bandwidth = row.at("busBw").number(0, fastest_Bps);
    std::string off = wrong_bus_bandwidth({.measured = measured, .bus_bandwidth = bus_bandwidth}, *operation, ranks);
    if (!off.empty() && operation == Operation::reduce_scatter) {  // some versions write what a rank receives
      const MeasuredTime whole = {static_cast<double>(ranks) * measured.bytes, measured.time};
      off = wrong_bus_bandwidth({.measured = whole, .bus_bandwidth = bus_bandwidth}, *operation, ranks);
      if (off.empty()) measured = whole;
    }
    if (!off.empty()) row.at("busBw").fail_because(off);
    times[*operation][measured.bytes.value].push_back(measured.time.value);
  }
  if (times.empty())
    Field(document).fail_because(options.in_place ? "no row was measured in place" : "no row was measured out of place; use --in-place");
  for (auto& [operation, sizes] : times) {
    for (auto& [bytes, samples] : sizes) {
      std::sort(samples.begin(), samples.end());
      constexpr double middle = 0.5;
      benchmark.operations[operation].measured.push_back({Bytes(bytes), Seconds(quantile(samples, middle))});
    }
  }
  return benchmark;
}

/// Bytes of "26214400, 4096000".
Bytes sum_of(const Field& sizes) {
  double sum = 0;
  std::istringstream text(sizes.text());
  for (std::string word; std::getline(text, word, ',');) {
    std::size_t used = 0;
    try {
      sum += std::stod(word, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != word.size()) sizes.fail("bytes such as \"26214400, 4096000\"");
  }
  return Bytes(sum);
}

/// What DistributedDataParallel counts of one rank. Communication is from the first bucket's start to the last one's end: one number for
/// all buckets, which cannot tell a start-up time.
struct DdpTimes {
  int line = 0;
  int ranks = 0;
  Bytes bytes;
  Seconds forward;
  Seconds backward;
  Seconds communication;
  Seconds overlap;
};

DdpTimes ddp_times(const Document& document, int line) {
  constexpr double nanoseconds = 1e-9;
  constexpr double most_ns = 1e18;
  const Field root(document);
  Object log(root);
  DdpTimes times;
  times.line = line;
  times.ranks = static_cast<int>(log.at("world_size").integer(2, most_ranks));
  const auto rebuilt = log.find("rebuilt_bucket_sizes");
  const bool is_rebuilt = rebuilt && rebuilt->is_text() && !rebuilt->json().get_ref<const std::string&>().empty();
  times.bytes = sum_of(is_rebuilt ? *rebuilt : log.at("bucket_sizes"));
  const auto time = [&](const char* key) {
    const auto found = log.find(key);
    return Seconds(found ? nanoseconds * found->number(0, most_ns) : 0);
  };
  times.forward = time("avg_forward_compute_time");
  times.backward = time("avg_backward_compute_time");
  times.communication = time("avg_backward_comm_time");
  times.overlap = time("avg_backward_compute_comm_overlap_time");
  return times;
}

constexpr std::string_view ddp_key = "avg_backward_comm_time";

/// A dictionary as Python prints it, as JSON. pprint breaks long texts into several, on lines of their own.
std::string with_double_quotes(std::string text) {
  if (text.find('"') == std::string::npos) std::replace(text.begin(), text.end(), '\'', '"');
  std::string joined;
  for (std::size_t i = 0; i < text.size(); ++i) {
    joined += text[i];
    if (text[i] != '"') continue;
    const std::size_t next = text.find_first_not_of(" \t\r\n", i + 1);
    const bool goes_on = next != std::string::npos && text[next] == '"' && text.substr(i, next - i).find('\n') != std::string::npos;
    if (!goes_on) continue;
    joined.pop_back();
    i = next;
  }
  return joined;
}

/// All dictionaries with DistributedDataParallel's times. They have no others inside.
std::vector<DdpTimes> ddp_logs_of(const std::string& file, const std::string& text) {
  std::string joined;
  std::vector<std::size_t> begins;  // of the lines
  for (const PrintedLine& line : lines_of(file, text, [](std::string_view line) {
         const std::size_t brace = line.find('{');  // what has a quote before it is no prefix, but a key
         return line.substr(0, brace).find_first_of("\"'") == std::string_view::npos ? brace : std::string_view::npos;
       })) {
    begins.push_back(joined.size());
    joined += line.text + "\n";
  }
  std::vector<DdpTimes> logs;
  std::size_t done = 0;
  const bool is_alone = joined.find(ddp_key) == joined.rfind(ddp_key);
  for (std::size_t key = joined.find(ddp_key); key != std::string::npos; key = joined.find(ddp_key, done)) {
    const auto line = static_cast<int>(std::upper_bound(begins.begin(), begins.end(), key) - begins.begin());
    const std::size_t open = joined.rfind('{', key);
    const std::size_t close = joined.find('}', key);
    if (open == std::string::npos || open < done || close == std::string::npos) {
      throw InputError(
          fmt::format("{}:{}: \"{}\" is in no whole dictionary {{...}}; print all of _get_ddp_logging_data()", file, line, ddp_key));
    }
    done = close + 1;
    const std::string name = is_alone ? file : fmt::format("{}:{}", file, line);
    logs.push_back(ddp_times(Document(parse_json(with_double_quotes(joined.substr(open, done - open)), name), name), line));
  }
  if (logs.empty())
    throw InputError(fmt::format("{}: \"{}\" is in no dictionary {{...}}; print all of _get_ddp_logging_data()", file, ddp_key));
  return logs;
}

}  // namespace

bool is_ddp_log(const std::string& text) {
  return text.find(ddp_key) != std::string::npos && text.find("bucket_sizes") != std::string::npos;
}

Benchmark read_ddp_log(const std::string& file, const std::string& text, const BenchmarkOptions& options) {
  const std::vector<DdpTimes> logs = ddp_logs_of(file, text);
  const auto fail = [&file](const DdpTimes& log, const std::string& why) {
    throw InputError(fmt::format("{}:{}: {}", file, log.line, why));
  };
  const DdpTimes* shortest = nullptr;
  for (const DdpTimes& log : logs) {
    if (log.ranks != logs.front().ranks)
      fail(log,
           fmt::format("{} ranks, but line {} has {}; give each run a file of its own", log.ranks, logs.front().line, logs.front().ranks));
    if (log.communication == Seconds(0) || log.bytes == Bytes(0)) continue;
    if (shortest != nullptr && log.bytes != shortest->bytes)
      fail(log, fmt::format("{:.0f} bytes, but line {} has {:.0f}: another model; give each a file of its own", log.bytes.value,
                            shortest->line, shortest->bytes.value));
    if (shortest == nullptr || log.communication < shortest->communication) shortest = &log;
  }
  if (shortest == nullptr) fail(logs.front(), "no communication was timed yet; ask for the data after 20 steps or more");
  if (options.in_place) fail(*shortest, "--in-place chooses columns of nccl-tests, which this data does not have; leave it out");
  Benchmark benchmark = {file, "DistributedDataParallel", shortest->ranks};
  if (options.ranks > 0) {
    if (const std::string wrong = contradiction({.ranks = options.ranks}, benchmark.ranks); !wrong.empty()) fail(*shortest, wrong);
  }
  benchmark.nodes = nodes_by_options(options, benchmark.ranks, file);
  const Seconds communication = shortest->communication;
  benchmark.operations[Operation::all_reduce].line = CostLine{Seconds(0), SecondsPerByte(communication.value / shortest->bytes.value)};
  benchmark.notes = {
      fmt::format("of the job: forward {:.4g} ms, backward {:.4g} ms, communication {:.4g} ms, of which {:.4g} ms beside backward",
                  1e3 * shortest->forward.value, 1e3 * shortest->backward.value, 1e3 * communication.value, 1e3 * shortest->overlap.value),
      "one time for all buckets, with their waits for late ranks and for backward, cannot tell a start-up time; nccl-tests tell more"};
  if (logs.size() > 1) {
    benchmark.notes.push_back(
        fmt::format("the data of {} ranks or moments is in it; that of line {} counts, with the shortest communication: others wait longer",
                    logs.size(), shortest->line));
  }
  return benchmark;
}

Benchmark read_json_benchmark(const Document& document, const BenchmarkOptions& options) {
  const Json& root = document.root();
  const bool of_tests = root.contains("nccl_version") || root.contains("rccl_version");
  if (of_tests && root.contains("results")) return read_nccl(document, options);
  if (root.contains("format")) return read_probe(document, options);
  if (root.is_array()) return read_rccl(document, options);
  Field(document).fail_because(
      "expected a file of netprobe (\"format\": \"network-probe/1\"), of nccl-tests with -J (\"nccl_version\", \"results\"), of NCCL's "
      "Inspector (\"coll_perf\") or of DistributedDataParallel (\"bucket_sizes\")");
}

}  // namespace syncopate
