#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "base/files.hpp"
#include "base/table.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cluster/benchmark.hpp"
#include "cluster/cluster.hpp"
#include "cluster/measured_pairs.hpp"
#include "collective/algorithms.hpp"
#include "simctl/commands.hpp"
#include "simctl/profiled_benchmark.hpp"

namespace syncopate {

namespace {

struct FitOptions {
  std::string benchmark;
  BenchmarkOptions reading;
  std::string name;
  std::string out;
};

/// Whether the benchmark has timed messages from node to node, not all-reduces only.
bool has_link(const Benchmark& benchmark) { return benchmark.link && benchmark.nodes == benchmark.ranks; }

std::string fit_text(std::string_view operation, int ranks, const std::vector<MeasuredTime>& points) {
  std::vector<std::string> pairs;
  pairs.reserve(points.size());
  for (const MeasuredTime& point : points) pairs.push_back(fmt::format("[{:.0f}, {:.6g}]", point.bytes.value, point.time.value));
  return fmt::format("{{\"operation\": \"{}\", \"nodes\": {}, \"algorithm\": \"ring\", \"points\": [\n    {}\n  ]}}", operation, ranks,
                     fmt::join(pairs, ",\n    "));
}

/// The points as a Fit, whose line is that of the file that is written.
std::string cluster_text(const Benchmark& benchmark, const FitOptions& options, const LinkCost& implied) {
  const int gpus = benchmark.ranks / benchmark.nodes;
  const Link link = has_link(benchmark) ? *benchmark.link : Link{Rate(1.0 / implied.beta.value), std::max(Seconds(0), implied.alpha)};
  const std::string link_text = fmt::format(R"({{"bandwidth": {:.6g}, "latency": {:.6g}}})", link.bandwidth.value, link.latency.value);
  const std::string source = fmt::format(
      "all-reduces over {} ranks on {} nodes, timed by {}; the links are {}", benchmark.ranks, benchmark.nodes, benchmark.program,
      has_link(benchmark) ? "medians of its messages from node to node" : "those of a ring that would take as long");
  std::string text = fmt::format("{{\n  \"format\": \"cluster/1\",\n  \"name\": {},\n  \"source\": {},\n  \"nodes\": {},\n",
                                 Json(options.name).dump(), Json(source).dump(), benchmark.nodes);
  if (gpus > 1) text += fmt::format("  \"gpus_per_node\": {},\n  \"intra_node\": {},\n", gpus, link_text);
  const std::string all_reduces = fit_text("all-reduce", benchmark.ranks, benchmark.increasing);
  const bool has_more = benchmark.all_gathers.size() > 1 && benchmark.all_gathers.front().time < benchmark.all_gathers.back().time;
  const std::string fits =
      has_more ? fmt::format("[{}, {}]", all_reduces, fit_text("all-gather", benchmark.ranks, benchmark.all_gathers)) : all_reduces;
  return text + fmt::format("  \"link\": {},\n  \"fit\": {}\n}}\n", link_text, fits);
}

void print_report(const Benchmark& benchmark, const CostLine& line, const LinkCost& link, std::FILE* stream) {
  display(stream, "{}: {} over {} ranks on {} nodes\n", benchmark.file, benchmark.program, benchmark.ranks, benchmark.nodes);
  std::vector<Cells> table = {{"bytes", "measured", "kept", "by a line", "off"}};
  double worst = 0.0;
  for (std::size_t i = 0; i < benchmark.measured.size(); ++i) {
    const auto& [bytes, time] = benchmark.measured[i];
    const double off = line(bytes) / time - 1.0;
    worst = std::max(worst, std::abs(off));
    table.push_back(
        {fmt::format("{:.0f}", bytes.value), time, benchmark.increasing[i].time, line(bytes), fmt::format("{:+.1f}%", 100.0 * off)});
  }
  display(stream,
          "\n{}\nkept: as measured, but that more bytes take no less time; a line through the first and last point would be up to {:.0f}% "
          "off\n",
          format_table(table), 100.0 * worst);
  display(stream, "a ring of links with {} and {:.4g} Gb/s would take as long as the line\n", format_seconds(link.alpha),
          8e-9 / link.beta.value);
  if (has_link(benchmark)) {
    display(stream, "messages from node to node take {} and {:.4g} Gb/s: that is the file's link\n",
            format_seconds(benchmark.link->latency), 8e-9 * benchmark.link->bandwidth.value);
  }
}

std::string regions_text(const MeasuredPlaces& places, const FitOptions& options) {
  std::vector<std::string> regions;
  for (const std::string& name : places.names) regions.push_back(fmt::format("{{\"name\": {}, \"nodes\": 1}}", Json(name).dump()));
  std::vector<std::string> wan;
  for (const MeasuredPair& pair : places.pairs) {
    const std::string bandwidth = pair.up == pair.down ? fmt::format("{:.6g}", pair.up.value)
                                                       : fmt::format(R"({{"up": {:.6g}, "down": {:.6g}}})", pair.up.value, pair.down.value);
    const std::string jitter =
        pair.rtt_cv > 0.0 ? fmt::format(R"(, "latency_jitter": {{"distribution": "lognormal", "cv": {:.4g}}})", pair.rtt_cv) : "";
    wan.push_back(fmt::format(R"({{"between": [{}, {}], "rtt": {:.6g}, "bandwidth": {}{}}})", Json(pair.a).dump(), Json(pair.b).dump(),
                              pair.rtt.value, bandwidth, jitter));
  }
  return fmt::format(
      "{{\n  \"format\": \"cluster/1\",\n  \"name\": {},\n  \"source\": \"round trips by ping, bandwidths by iperf3\",\n  \"nodes\": {},\n "
      " "
      "\"regions\": [\n    {}\n  ],\n  \"wan\": [\n    {}\n  ]\n}}\n",
      Json(options.name).dump(), places.names.size(), fmt::join(regions, ",\n    "), fmt::join(wan, ",\n    "));
}

void print_regions(const MeasuredPlaces& places, std::FILE* stream) {
  std::vector<Cells> table = {{"between", "and", "round trip", "cv", "Gb/s", "back"}};
  for (const MeasuredPair& pair : places.pairs) {
    table.push_back({pair.a, pair.b, pair.rtt, fmt::format("{:.3f}", pair.rtt_cv), fmt::format("{:.4g}", 8e-9 * pair.up.value),
                     fmt::format("{:.4g}", 8e-9 * pair.down.value)});
  }
  display(stream,
          "{}\na node in each of {} regions: say more by \"nodes\" of the file and of its regions, and add a \"link\" for those of one\n",
          format_table(table), places.names.size());
}

void fit_regions(const FitOptions& options) {
  if (options.reading.ranks > 0 || options.reading.in_place || options.reading.gpus_per_node > 0) {
    throw UsageError(
        "--ranks, --gpus-per-node and --in-place are of all-reduces; leave them out for a folder of iperf3's and ping's files");
  }
  const MeasuredPlaces places = read_measured_pairs(options.benchmark);
  write_output(options.out, regions_text(places, options));
  print_regions(places, stream_beside(options.out));
}

Benchmark read_any_benchmark(const FitOptions& options) {
  if (!is_profile(options.benchmark)) return read_benchmark(options.benchmark, options.reading);
  Benchmark benchmark = read_profiled_benchmark(options.benchmark, options.reading);
  finish_benchmark(benchmark);
  return benchmark;
}

void add_cluster_fit_command(CLI::App& app) {
  const auto options = std::make_shared<FitOptions>();
  CLI::App* command =
      app.add_subcommand("fit", "Make a cluster of the all-reduces that netprobe, nccl-tests or OSU's micro-benchmarks have timed on it");
  command
      ->add_option("FILE", options->benchmark,
                   "what netprobe wrote, or all_reduce_perf or osu_allreduce printed; a PyTorch profile of a distributed run; or a folder "
                   "of iperf3's and ping's files")
      ->required();
  command->add_option("--ranks", options->reading.ranks, "processes that took part: OSU does not print that")
      ->check(CLI::Range(2, 1 << 20));
  command->add_option("--gpus-per-node", options->reading.gpus_per_node, "of OSU or a profile: ranks that share a node [1]")
      ->check(CLI::Range(1, 1024));
  command->add_flag("--in-place", options->reading.in_place, "nccl-tests: its in-place columns");
  command->add_option("--name", options->name, "name of the cluster; default: the file's");
  command->add_option("-o", options->out, "cluster/1 file to write")->required();
  command->footer("Example: simctl cluster fit scenarios/clusters/runs/generated.txt -o results/mine.json");
  command->callback([options] {
    check_output(options->out, {options->benchmark});
    if (std::filesystem::is_directory(options->benchmark)) {
      if (options->name.empty()) options->name = std::filesystem::weakly_canonical(options->benchmark).stem().string();
      return fit_regions(*options);
    }
    const Benchmark benchmark = read_any_benchmark(*options);
    if (options->name.empty()) options->name = std::filesystem::path(options->benchmark).stem().string();
    const CostLine line = line_through(benchmark.increasing);
    const LinkCost link = implied_link(ring().all_reduce, line, benchmark.ranks, SecondsPerByte(0));
    write_output(options->out, cluster_text(benchmark, *options, link));
    print_report(benchmark, line, link, stream_beside(options->out));
  });
}

}  // namespace

void add_cluster_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("cluster", "Make a cluster of measurements");
  command->require_subcommand(1);
  command->footer("Example: simctl cluster fit scenarios/clusters/runs/generated.txt -o results/mine.json");
  add_cluster_fit_command(*command);
}

}  // namespace syncopate
