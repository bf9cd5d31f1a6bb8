#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/table.hpp"
#include "cluster/benchmark.hpp"
#include "cluster/cluster.hpp"
#include "collective/algorithms.hpp"
#include "simctl/commands.hpp"

namespace syncopate {

namespace {

struct Options {
  std::string benchmark;
  BenchmarkOptions reading;
  std::string name;
  std::string out;
};

/// The points as a Fit, whose line is that of the file that is written.
std::string cluster_text(const Benchmark& benchmark, const Options& options, const LinkCost& link) {
  const int gpus = benchmark.ranks / benchmark.nodes;
  const std::string link_text =
      fmt::format(R"({{"bandwidth": {:.6g}, "latency": {:.6g}}})", 1.0 / link.beta.value, std::max(0.0, link.alpha.value));
  const std::string source =
      fmt::format("all-reduces over {} ranks on {} nodes, timed by {}; the links are those of a ring that would take as long",
                  benchmark.ranks, benchmark.nodes, benchmark.program);
  std::string text = fmt::format("{{\n  \"format\": \"cluster/1\",\n  \"name\": {},\n  \"source\": {},\n  \"nodes\": {},\n",
                                 Json(options.name).dump(), Json(source).dump(), benchmark.nodes);
  if (gpus > 1) text += fmt::format("  \"gpus_per_node\": {},\n  \"intra_node\": {},\n", gpus, link_text);
  text += fmt::format("  \"link\": {},\n  \"fit\": {{\"nodes\": {}, \"algorithm\": \"ring\", \"points\": [", link_text, benchmark.ranks);
  for (const MeasuredTime& point : benchmark.increasing) {
    text +=
        fmt::format("{}\n    [{:.0f}, {:.6g}]", &point == &benchmark.increasing.front() ? "" : ",", point.bytes.value, point.time.value);
  }
  return text + "\n  ]}\n}\n";
}

void print_report(const Benchmark& benchmark, const CostLine& line, const LinkCost& link) {
  fmt::print("{}: {} over {} ranks on {} nodes\n", benchmark.file, benchmark.program, benchmark.ranks, benchmark.nodes);
  std::vector<std::vector<std::string>> table = {{"bytes", "measured", "kept", "by a line", "off"}};
  double worst = 0.0;
  for (std::size_t i = 0; i < benchmark.measured.size(); ++i) {
    const auto& [bytes, time] = benchmark.measured[i];
    const double off = line(bytes) / time - 1.0;
    worst = std::max(worst, std::abs(off));
    table.push_back({fmt::format("{:.0f}", bytes.value), format_seconds(time), format_seconds(benchmark.increasing[i].time),
                     format_seconds(line(bytes)), fmt::format("{:+.1f}%", 100.0 * off)});
  }
  fmt::print(
      "\n{}\nkept: as measured, but that more bytes take no less time; a line through the first and last point would be up to {:.0f}% "
      "off\n",
      format_table(table), 100.0 * worst);
  fmt::print("a ring of links with {} and {:.4g} Gb/s would take as long as the line\n", format_seconds(link.alpha),
             8e-9 / link.beta.value);
}

void add_cluster_fit_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("fit", "Make a cluster of the all-reduces that nccl-tests or OSU's micro-benchmarks have timed on it");
  command->add_option("FILE", options->benchmark, "what all_reduce_perf or osu_allreduce printed")->required();
  command->add_option("--ranks", options->reading.ranks, "processes that took part, each on a node of its own: OSU does not print that")
      ->check(CLI::Range(2, 1 << 20));
  command->add_flag("--in-place", options->reading.in_place, "nccl-tests: its in-place columns");
  command->add_option("--name", options->name, "name of the cluster; default: the file's");
  command->add_option("-o", options->out, "cluster/1 file to write")->required();
  command->footer("Example: simctl cluster fit scenarios/clusters/runs/generated.txt -o results/mine.json");
  command->callback([options] {
    check_output(options->out, {options->benchmark});
    const Benchmark benchmark = read_benchmark(options->benchmark, options->reading);
    if (options->name.empty()) options->name = std::filesystem::path(options->benchmark).stem().string();
    const CostLine line = line_through(benchmark.increasing);
    const LinkCost link = implied_link(ring().all_reduce, line, benchmark.ranks, SecondsPerByte(0));
    write_output(options->out, cluster_text(benchmark, *options, link));
    print_report(benchmark, line, link);
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
