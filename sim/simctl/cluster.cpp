#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/files.hpp"
#include "base/table.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cluster/benchmark.hpp"
#include "cluster/cluster.hpp"
#include "cluster/measured_pairs.hpp"
#include "cluster/node_topology.hpp"
#include "collective/algorithms.hpp"
#include "simctl/checked_output.hpp"
#include "simctl/commands.hpp"
#include "simctl/profiled_benchmark.hpp"

namespace syncopate {

namespace {

struct FitOptions {
  std::vector<std::string> benchmarks;
  BenchmarkOptions reading;
  std::string ranks;  ///< "16" or "4,8,16"; empty: not given
  std::string name;   ///< empty: that of the file
  std::string out;
};

std::string name_of(const FitOptions& options) {
  const std::filesystem::path file = options.benchmarks.front();
  if (!options.name.empty()) return options.name;
  return (std::filesystem::is_directory(file) ? std::filesystem::weakly_canonical(file) : file).stem().string();
}

void write_cluster(const FitOptions& options, const std::string& text) {
  write_checked(options.out, text, !options.name.empty(), options.benchmarks.front(),
                [](const Document& document) { read_cluster(document); });
}

/// Whether the benchmark has timed messages between nodes, besides all-reduces.
bool has_link(const Benchmark& benchmark) { return benchmark.link && benchmark.nodes == benchmark.ranks; }

/// A number rounded to significant digits; whole numbers are integers in JSON.
Json number_json(double value, int digits = 6) {
  constexpr double most_whole = 1e15;
  const double rounded_value = std::stod(fmt::format("{:.{}g}", value, digits));
  const bool is_whole = rounded_value == std::floor(rounded_value) && std::abs(rounded_value) < most_whole;
  return is_whole ? Json(static_cast<std::int64_t>(rounded_value)) : Json(rounded_value);
}

Json points_json(const std::vector<MeasuredTime>& points) {
  Json pairs = Json::array();
  for (const MeasuredTime& point : points) pairs.push_back({std::llround(point.bytes.value), number_json(point.time.value)});
  return pairs;
}

/// `link`: what it was measured at; empty inside one node.
Json fit_json(Operation operation, int ranks, const MeasuredOperation& times, const Json& link) {
  Json fit = {{"operation", to_string(operation)}, {"nodes", ranks}, {"algorithm", "ring"}};
  if (!link.empty()) fit["measured_at"] = link;
  if (times.line) {
    fit["a_s"] = times.line->a.value;
    fit["b_s_per_B"] = number_json(times.line->b.value);
    return fit;
  }
  fit["points"] = points_json(times.increasing);
  if (!times.queued.empty()) fit["queued"] = points_json(times.queued);
  if (!times.two_at_once.empty()) fit["two_at_once"] = points_json(times.two_at_once);
  return fit;
}

CostLine line_of(const MeasuredOperation& times) { return times.line ? *times.line : line_through(times.increasing); }

Json link_json(Rate bandwidth, Seconds latency) {
  return {{"bandwidth", number_json(bandwidth.value)}, {"latency", number_json(latency.value)}};
}

Json nominal_json(const NodeTopology::Nominal& link) {
  Json json = link_json(link.bandwidth, link.latency);
  json["efficiency"] = link.efficiency;
  return json;
}

/// The cluster of one node. Its interfaces' link is nominal if the file tells their speeds; else it is that inside the node, which one node
/// does not use.
std::string node_text(const NodeTopology& node, const FitOptions& options) {
  Json json = {{"format", "cluster/1"}, {"name", name_of(options)}};
  json["source"] = node.gpus > 1 ? fmt::format("nominal: GPUs joined by {}", node.describe_connection()) : "a node of one GPU";
  if (!node.speed()) json["source"] = json["source"].get<std::string>() + "; the link between nodes is unknown, put it in";
  json["nodes"] = 1;
  json["gpus_per_node"] = node.gpus;
  if (node.gpus > 1) json["intra_node"] = nominal_json(node.intra_node());
  const auto speed = node.speed();
  const auto count = static_cast<double>(std::max<std::size_t>(1, node.nics.size()));
  constexpr Seconds between_nodes(9.6e-6);
  json["link"] = speed ? nominal_json({*speed / count, between_nodes, 0.96}) : nominal_json(node.intra_node());
  if (speed) json["nics"] = node.nics.size();
  return pretty(json);
}

void print_node(const NodeTopology& node, std::FILE* stream) {
  if (node.gpus == 1) {
    display(stream, "{}: 1 GPU\n", node.file);
  } else {
    display(stream, "{}: {} GPUs, joined by {}\n", node.file, node.gpus, node.describe_connection());
  }
  if (node.nics.empty()) return;
  std::vector<Cells> table = {{"interface", "Gb/s", "nearest to GPUs"}};
  for (const NodeTopology::Nic& nic : node.nics) {
    table.push_back({nic.name, nic.speed ? fmt::format("{:.4g}", 8e-9 * nic.speed->value) : "-",
                     nic.nearest.empty() ? "-" : fmt::format("{}", fmt::join(nic.nearest, ", "))});
  }
  display(stream, "\n{}", format_table(table));
}

/// "16, 32 and 64".
std::string list_of_ranks(const std::vector<Benchmark>& benchmarks) {
  std::string text = std::to_string(benchmarks.front().ranks);
  for (std::size_t i = 1; i < benchmarks.size(); ++i)
    text += fmt::format("{}{}", i + 1 < benchmarks.size() ? ", " : " and ", benchmarks[i].ranks);
  return text;
}

/// Of a processor, for each message: as servers' clients saw it, else as it was measured by itself.
std::optional<Seconds> message_time(const Benchmark& benchmark) {
  if (!benchmark.servers) return benchmark.per_message;
  const Seconds of_server = conclude(*benchmark.servers).per_message;
  return of_server > Seconds(0) ? of_server : benchmark.per_message;
}

/// A cluster/1 file of the largest benchmark's nodes. Without measured messages between nodes its link is `implied`.
std::string cluster_text(const std::vector<Benchmark>& benchmarks, const std::optional<NodeTopology>& node, const FitOptions& options,
                         const LinkCost& implied) {
  const Benchmark& benchmark = benchmarks.back();
  const int gpus = benchmark.ranks / benchmark.nodes;
  const Link link = has_link(benchmark) ? *benchmark.link : Link{Rate(1.0 / implied.beta.value), std::max(Seconds(0), implied.alpha)};
  const Json of_link = link_json(link.bandwidth, link.latency);
  std::string source =
      fmt::format("{} over {} ranks on {}{} nodes, timed by {}; the links are {}", operations_of(benchmark), list_of_ranks(benchmarks),
                  benchmarks.size() > 1 ? "up to " : "", benchmark.nodes, benchmark.program,
                  has_link(benchmark) ? "medians of its messages from node to node" : "those of a ring that would take as long");
  if (node) source += fmt::format("; inside a node, nominal: {}", node->describe_connection());
  Json json = {{"format", "cluster/1"}, {"name", name_of(options)}, {"source", source}, {"nodes", benchmark.nodes}};
  if (gpus > 1) {
    json["gpus_per_node"] = gpus;
    json["intra_node"] = node ? nominal_json(node->intra_node()) : of_link;
  }
  json["link"] = of_link;
  if (const auto per_message = message_time(benchmark)) json["host"] = {{"per_message_s", number_json(per_message->value, 3)}};
  Json fits = Json::array();
  for (const Benchmark& one : benchmarks) {
    for (const auto& [operation, times] : one.operations)
      fits.push_back(fit_json(operation, one.ranks, times, one.nodes > 1 ? of_link : Json::object()));
  }
  json["fit"] = fits.size() == 1 ? fits.front() : fits;
  return pretty(json);
}

/// Prints the times of one operation beside those of the line through the first and the last.
void print_times(const MeasuredOperation& times, const CostLine& line, std::FILE* stream) {
  if (times.line) return display(stream, "\n");
  std::vector<Cells> table = {{"bytes", "measured", "kept", "by a line", "off"}};
  if (!times.queued.empty()) table.front().emplace_back("back to back");
  if (!times.two_at_once.empty()) table.front().emplace_back("two at once");
  double worst = 0.0;
  const auto add_time = [](Cells& row, const std::vector<MeasuredTime>& measured, Bytes bytes) {
    const auto found = std::find_if(measured.begin(), measured.end(), [bytes](const MeasuredTime& one) { return one.bytes == bytes; });
    row.emplace_back(found == measured.end() ? Cell("") : Cell(found->time));
  };
  for (std::size_t i = 0; i < times.measured.size(); ++i) {
    const auto& [bytes, time] = times.measured[i];
    const double off = line(bytes) / time - 1.0;
    worst = std::max(worst, std::abs(off));
    Cells row = {fmt::format("{:.0f}", bytes.value), time, times.increasing[i].time, line(bytes), fmt::format("{:+.1f}%", 100.0 * off)};
    if (!times.queued.empty()) add_time(row, times.queued, bytes);
    if (!times.two_at_once.empty()) add_time(row, times.two_at_once, bytes);
    table.push_back(std::move(row));
  }
  display(
      stream,
      "\n{}\nkept: the measured times, raised where more bytes took less time; a line through the first and last point is up to {:.0f}% "
      "off\n",
      format_table(table), 100.0 * worst);
  if (!times.two_at_once.empty()) display(stream, "two at once: until both have ended, as they are simulated on two channels\n");
}

/// What pushes and pulls tell of a schedule over servers.
void print_servers(const Benchmark& benchmark, std::FILE* stream) {
  const MeasuredServers& measured = *benchmark.servers;
  std::vector<Cells> table = {{"bytes", "push", "pull", "both", "overlap"}};
  for (std::size_t i = 0; i < measured.push.size(); ++i) {
    table.push_back({fmt::format("{:.0f}", measured.push[i].bytes.value), measured.push[i].time, measured.pull[i].time,
                     measured.both[i].time, fmt::format("{:.0f}%", 100.0 * overlap_of(measured, i))});
  }
  display(stream, "\nservers: {}, clients: {}\n{}overlap: how much of the shorter one of push and pull passes beside the other one\n",
          measured.servers, measured.clients, format_table(table));
  const ServerTimes times = conclude(measured);
  if (!times.is_long_enough) {
    return display(stream,
                   "the largest messages take less than twice as long as the smallest ones, which tells nothing of servers: measure larger "
                   "ones\n");
  }
  constexpr double little = 0.25;
  const bool is_between = times.overlap > little && times.overlap < 1.0 - little;
  display(stream, "pushes and pulls {}: \"duplex\": {} of a schedule over servers{}\n",
          is_between     ? "pass beside each other in part"
          : times.duplex ? "pass beside each other"
                         : "take turns",
          times.duplex, is_between ? " is the nearer one; the truth lies between" : "");
  display(stream, "a {}'s link moved {:.4g} Gb/s in pulls\n", measured.clients < measured.servers ? "client" : "server",
          8e-9 * times.link.value);
  display(stream, "adding up takes a server {:.3g} s/B more than sending: \"server_s_per_B\"\n", times.work.value);
  if (times.per_message > Seconds(0)) {
    display(stream, "a message takes a server {}: the file's \"per_message_s\"\n", format_seconds(times.per_message));
  } else {
    display(stream, "{}{}\n",
            measured.of_one ? "a server's time for a message cannot be told from the latency"
                            : "a server's time for a message is not known, as no single client was measured among several",
            benchmark.per_message ? "; the file's \"per_message_s\" is that of a processor alone" : "");
  }
  display(stream,
          "for a run: --set /schedule/duplex={} --set /schedule/server_s_per_B={:.3g}\n"
          "not seen: copies to and from GPUs, what other programs' servers do, acknowledgements and requests, servers on clients' nodes\n",
          times.duplex, times.work.value);
}

void print_report(const Benchmark& benchmark, const LinkCost& link, std::FILE* stream) {
  display(stream, "{}: {} over {} ranks on {} nodes\n", benchmark.file, benchmark.program, benchmark.ranks, benchmark.nodes);
  for (const auto& [operation, times] : benchmark.operations) {
    if (benchmark.operations.size() > 1) display(stream, "\n{}s:", to_string(operation));
    print_times(times, line_of(times), stream);
  }
  for (const std::string& note : benchmark.notes) display(stream, "note: {}\n", note);
  display(stream, "a ring of links with {} and {:.4g} Gb/s would take as long as the line\n", format_seconds(link.alpha),
          8e-9 / link.beta.value);
  if (has_link(benchmark)) {
    display(stream, "messages from node to node take {} and {:.4g} Gb/s: that is the file's link\n",
            format_seconds(benchmark.link->latency), 8e-9 * benchmark.link->bandwidth.value);
  }
  if (benchmark.add) display(stream, "adding takes {:.3g} s/B: \"server_s_per_B\" of a schedule with servers\n", benchmark.add->value);
  if (benchmark.servers) print_servers(benchmark, stream);
}

std::string regions_text(const MeasuredPlaces& places, const FitOptions& options) {
  Json regions = Json::array();
  for (const std::string& name : places.names) regions.push_back({{"name", name}, {"nodes", 1}});
  Json wan = Json::array();
  for (const MeasuredPair& pair : places.pairs) {
    Json link = {{"between", Json::array({pair.a, pair.b})}, {"rtt", number_json(pair.rtt.value)}};
    link["bandwidth"] = pair.up == pair.down ? number_json(pair.up.value)
                                             : Json{{"up", number_json(pair.up.value)}, {"down", number_json(pair.down.value)}};
    if (pair.connections > 1) link["connections"] = pair.connections;
    if (pair.rtt_cv > 0.0) link["latency_jitter"] = {{"distribution", "lognormal"}, {"cv", number_json(pair.rtt_cv, 4)}};
    wan.push_back(std::move(link));
  }
  return pretty({{"format", "cluster/1"},
                 {"name", name_of(options)},
                 {"source", "round trips by ping, bandwidths by iperf3"},
                 {"nodes", places.names.size()},
                 {"regions", std::move(regions)},
                 {"wan", std::move(wan)}});
}

void print_regions(const MeasuredPlaces& places, std::FILE* stream) {
  std::vector<Cells> table = {{"between", "and", "round trip", "cv", "Gb/s", "back"}};
  for (const MeasuredPair& pair : places.pairs) {
    table.push_back({pair.a, pair.b, pair.rtt, fmt::format("{:.3f}", pair.rtt_cv), fmt::format("{:.4g}", 8e-9 * pair.up.value),
                     fmt::format("{:.4g}", 8e-9 * pair.down.value)});
  }
  display(
      stream,
      "{}\n{} regions of one node each; for more, change \"nodes\" of the file and of its regions, and add a \"link\" within a region\n",
      format_table(table), places.names.size());
}

void fit_regions(const FitOptions& options) {
  if (!options.ranks.empty() || options.reading.in_place || options.reading.gpus_per_node > 0) {
    throw UsageError(
        "--ranks, --gpus-per-node and --in-place apply to all-reduces; leave them out for a folder of iperf3's and ping's files");
  }
  const MeasuredPlaces places = read_measured_pairs(options.benchmarks.front());
  write_cluster(options, regions_text(places, options));
  print_regions(places, stream_beside(options.out));
}

/// A file that is given: a node's topology, or a benchmark.
struct Given {
  std::string name;
  int profile = -1;  ///< open file of a profile, else
  std::string text;
};

Given read_given(const std::string& name) {
  const int file = open_to_reread(name);
  if (is_profile(file)) return {name, file, ""};
  return {name, -1, read_file(file, name)};
}

/// The numbers of --ranks, in its order; none of an empty text. Throws UsageError.
std::vector<int> read_rank_counts(const std::string& text) {
  constexpr int most = 1 << 20;
  std::vector<int> counts;
  if (text.empty()) return counts;
  for (const std::string& item : split_at_commas(text)) {
    const std::optional<std::vector<int>> count = parse_ranges(item, most);
    if (!count || count->size() != 1 || count->front() < 2) {
      throw UsageError(fmt::format("--ranks {}: expected a whole number from 2 to {}, or one for each file, such as 4,8,16; got \"{}\"",
                                   text, most, item));
    }
    counts.push_back(count->front());
  }
  return counts;
}

/// The number of ranks that --ranks gives each of these files, 0 if none: one for all of them, or one for each in their order. Throws
/// UsageError.
std::vector<int> ranks_of_files(const std::string& ranks, const std::vector<Given>& files) {
  std::vector<int> counts = read_rank_counts(ranks);
  if (counts.size() < 2) return std::vector<int>(files.size(), counts.empty() ? 0 : counts.front());
  if (counts.size() != files.size()) {
    std::vector<std::string> names;
    for (const Given& file : files) names.push_back(file.name);
    throw UsageError(
        fmt::format("--ranks {}: {} numbers for {} file{} of collectives ({}); give one for each in this order, or one for all", ranks,
                    counts.size(), files.size(), files.size() == 1 ? "" : "s", fmt::join(names, ", ")));
  }
  const auto log =
      std::find_if(files.begin(), files.end(), [](const Given& file) { return file.profile < 0 && is_inspector_log(file.text); });
  if (log != files.end())
    throw UsageError(
        fmt::format("--ranks {}: {} is a log of NCCL's Inspector, which tells its ranks; leave --ranks out", ranks, log->name));
  return counts;
}

Benchmark read_given_benchmark(const Given& given, const BenchmarkOptions& options) {
  if (given.profile < 0) return read_benchmark(given.name, given.text, options);
  Benchmark benchmark = read_profiled_benchmark(given.profile, given.name, options);
  finish_benchmark(benchmark);
  return benchmark;
}

/// What the node's topology tells of a benchmark.
void compare(const NodeTopology& node, const LinkCost& link, Benchmark& benchmark) {
  const int gpus = benchmark.ranks / benchmark.nodes;
  if (gpus > node.gpus) {
    throw InputError(fmt::format("{}: a node has {} GPUs, but {} ranks of {} share one; give the topology of the nodes that were measured",
                                 node.file, node.gpus, gpus, benchmark.file));
  }
  if (gpus < node.gpus) benchmark.notes.push_back(fmt::format("{} of a node's {} GPUs took part", gpus, node.gpus));
  const auto speed = node.speed();
  if (!speed || benchmark.nodes == 1 || has_link(benchmark) || Rate(1.0 / link.beta.value) <= *speed) return;
  benchmark.notes.push_back(
      fmt::format("the links derived, {:.4g} Gb/s, exceed the {:.4g} Gb/s of a node's interfaces: they stand for what NCCL does inside "
                  "nodes, too, not for a cable",
                  8e-9 / link.beta.value, 8e-9 * speed->value));
}

void fit_collectives(const FitOptions& options) {
  std::vector<Given> files;
  std::optional<NodeTopology> node;
  for (const std::string& name : options.benchmarks) {
    Given given = read_given(name);
    const bool has_topology = given.profile < 0 && is_node_topology(given.text);
    if (has_topology && node) throw InputError(fmt::format("{}: {} is a node's topology, too; give one", name, node->file));
    if (has_topology) node = read_node_topology(name, given.text);
    if (!has_topology || holds_benchmark(given.text)) files.push_back(std::move(given));
  }
  const std::vector<int> ranks = ranks_of_files(options.ranks, files);
  std::FILE* const stream = stream_beside(options.out);
  if (files.empty()) {
    write_cluster(options, node_text(*node, options));
    print_node(*node, stream);
    return display(stream, "one node; for more, change \"nodes\"{}\n",
                   node->speed() ? "" : " and put in the interfaces' \"link\", whose speed the file does not tell");
  }
  BenchmarkOptions reading = options.reading;
  if (node) reading.gpus_of_node = node->gpus;
  std::vector<Benchmark> benchmarks;
  std::vector<TextFile> inspected;
  for (std::size_t i = 0; i < files.size(); ++i) {
    Given& file = files[i];
    reading.ranks = ranks[i];
    if (file.profile < 0 && is_inspector_log(file.text)) {
      inspected.push_back({file.name, std::move(file.text)});
    } else {
      add_benchmark(benchmarks, read_given_benchmark(file, reading));
    }
  }
  if (!inspected.empty()) {
    for (Benchmark& benchmark : read_inspector_logs(inspected, reading)) add_benchmark(benchmarks, std::move(benchmark));
  }
  std::vector<LinkCost> links;
  for (Benchmark& benchmark : benchmarks) {
    const auto& [operation, times] = *benchmark.operations.begin();
    links.push_back(implied_link(ring().form(operation), line_of(times), benchmark.ranks, SecondsPerByte(0)));
    if (node) compare(*node, links.back(), benchmark);
  }
  write_cluster(options, cluster_text(benchmarks, node, options, links.back()));
  if (node) print_node(*node, stream);
  for (std::size_t i = 0; i < benchmarks.size(); ++i) print_report(benchmarks[i], links[i], stream);
}

void add_cluster_fit_command(CLI::App& app) {
  const auto options = std::make_shared<FitOptions>();
  CLI::App* command =
      app.add_subcommand("fit", "Make a cluster from collectives timed by netprobe, nccl-tests, OSU's micro-benchmarks or a job's logs");
  command
      ->add_option(
          "FILE", options->benchmarks,
          "output of netprobe, nccl-tests, OSU's collectives or ds_bench, also several of different operations or numbers of ranks; NCCL "
          "Inspector's logs, also one of each process; DeepSpeed's log, "
          "DDP's logging data or a PyTorch profile of a distributed run; with or without nvidia-smi topo -m; or a folder of iperf3's and "
          "ping's files")
      ->required();
  command
      ->add_option("--ranks", options->ranks,
                   "number of processes, which OSU and DeepSpeed's log do not print: one for all files, or one for each, such as 4,8,16")
      ->check([](const std::string& text) { return text.empty() ? std::string("the value is empty; leave it out") : std::string(); });
  command->add_option("--gpus-per-node", options->reading.gpus_per_node, "ranks per node, where the file does not tell it (OSU: default 1)")
      ->check(CLI::Range(1, 1024));
  command->add_flag("--in-place", options->reading.in_place, "for nccl-tests: use the in-place columns");
  command->add_option("--name", options->name, "name of the cluster; default: the file's");
  command->add_option("-o", options->out, "cluster/1 file to write")->required();
  command->footer("Example: simctl cluster fit scenarios/clusters/runs/generated.txt -o results/mine.json");
  command->callback([options] {
    check_output(options->out, options->benchmarks);
    if (options->benchmarks.size() == 1 && std::filesystem::is_directory(options->benchmarks.front())) return fit_regions(*options);
    fit_collectives(*options);
  });
}

}  // namespace

void add_cluster_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("cluster", "Make a cluster from measurements");
  command->require_subcommand(1);
  command->footer("Example: simctl cluster fit scenarios/clusters/runs/generated.txt -o results/mine.json");
  add_cluster_fit_command(*command);
}

}  // namespace syncopate
