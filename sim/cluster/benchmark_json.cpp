#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/document.hpp"
#include "base/fields.hpp"
#include "base/indexed.hpp"
#include "base/statistics.hpp"
#include "cluster/benchmark_formats.hpp"

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

Benchmark read_probe(const Document& document, const BenchmarkOptions& options) {
  Object probe{Field(document)};
  probe.format("network-probe/1", true);
  Benchmark benchmark = {document.file(), "netprobe"};
  for (const char* key : {"provenance", "timing", "host_s_per_message", "add_s_per_B", "queued", "two_at_once"}) probe.find(key);
  benchmark.program = fmt::format("netprobe, {}", probe.at("library").text());
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
  benchmark.measured = sizes_of(probe.at("all_reduce"));
  if (!probe.at("all_gather").json().empty()) benchmark.all_gathers = sizes_of(probe.at("all_gather"));
  for (MeasuredTime& time : benchmark.all_gathers) time.bytes = benchmark.ranks * time.bytes;
  benchmark.link = link_of(probe.at("pairs"), benchmark.ranks);
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
MeasuredTime nccl_result(const Field& element, int ranks, bool in_place) {
  Object result(element);
  for (const char* key : {"count", "type", "root", "actual_iterations", "experiment_name", in_place ? "out_of_place" : "in_place"})
    result.find(key);
  result.at("redop").text();
  const Field timed = result.at(in_place ? "in_place" : "out_of_place");
  result.at("size");
  result.finish();
  for (const char* key : {"out_of_place", "in_place"}) {
    if (const auto columns = result.find(key)) require_right(*columns);
  }
  if (!timed.is_object())
    timed.fail_because(in_place ? "was not measured; leave --in-place out" : "was not measured; use --in-place for the other times");
  Object times(timed);
  times.find("alg_bw");
  times.find("nwrong");
  if (times.find("cpu_time")) times.at("cpu_time").fail_because("is the host's time, not the all-reduce's; run nccl-tests without -C");
  const Bytes bytes(result.at("size").number(0, 1e15));
  if (bytes == Bytes(0)) return {};
  const MeasuredTime measured = {bytes, Seconds(microseconds * times.at("time").positive(longest_s / microseconds))};
  const std::string reason = wrong_bus_bandwidth(times.at("bus_bw").number(0, fastest_Bps), measured, ranks);
  if (!reason.empty()) times.at("bus_bw").fail_because(reason);
  times.finish();
  return measured;
}

Benchmark read_nccl(const Document& document, const BenchmarkOptions& options) {
  Object run{Field(document)};
  Benchmark benchmark = {document.file(), "nccl-tests"};
  for (const char* key : {"version", "start_time", "end_time", "args", "env", "nccl_version"}) run.find(key);
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
  for (const Field& element : run.at("results").list()) {
    const MeasuredTime measured = nccl_result(element, benchmark.ranks, options.in_place);
    if (measured.bytes == Bytes(0)) continue;
    require_growth(benchmark.measured, measured.bytes, [&](const std::string& why) { element.fail_because(why); });
    benchmark.measured.push_back(measured);
  }
  require_success(run);
  run.finish();
  return benchmark;
}

}  // namespace

Benchmark read_json_benchmark(const Document& document, const BenchmarkOptions& options) {
  const Json& root = document.root();
  if (root.contains("nccl_version") && root.contains("results")) return read_nccl(document, options);
  if (root.contains("format")) return read_probe(document, options);
  Field(document).fail_because(
      "expected a file of netprobe (\"format\": \"network-probe/1\") or of nccl-tests with -J (\"nccl_version\", \"results\")");
}

}  // namespace syncopate
