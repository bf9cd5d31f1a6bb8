#include <fmt/format.h>

#include <memory>

#include "cluster/cluster.hpp"
#include "cluster/topologies.hpp"
#include "collective/collectives.hpp"
#include "model/model.hpp"
#include "schedule/schedules.hpp"
#include "simctl/commands.hpp"
#include "simctl/project_files.hpp"
#include "simctl/table.hpp"
#include "trace/device_profile.hpp"
#include "trace/trace.hpp"

namespace syncopate {

namespace {

namespace fs = std::filesystem;
using Cells = std::vector<std::string>;

void print_schedules() {
  std::vector<Cells> table = {{"schedule", "meaning", "parameters (default)"}};
  for (const ScheduleRow& row : schedules())
    table.push_back({std::string(row.name), std::string(row.meaning), std::string(row.parameters)});
  fmt::print("{}", format_table(table));
}

void print_collectives() {
  std::vector<Cells> table = {{"all_reduce", "meaning", "caveat"}};
  for (const Collective& row : collectives()) table.push_back({std::string(row.name), std::string(row.meaning), std::string(row.caveat)});
  fmt::print("{}", format_table(table));
}

void print_topologies() {
  std::vector<Cells> table = {{"topology", "meaning", "parameters"}};
  for (const Topology& row : topologies()) table.push_back({std::string(row.name), std::string(row.meaning), std::string(row.parameters)});
  fmt::print("{}", format_table(table));
}

void print_clusters() {
  std::vector<Cells> table = {{"file", "name", "bandwidth", "latency", "source"}};
  for (const fs::path& file : json_files(find_folder("scenarios/clusters"))) {
    const Cluster cluster = read_cluster(Document::read(file));
    table.push_back({file.string(), cluster.name, fmt::format("{:.4g} Gb/s", cluster.link.bandwidth.value * 8 / 1e9),
                     format_seconds(cluster.link.latency), cluster.source});
  }
  fmt::print("{}", format_table(table));
}

void print_models() {
  std::vector<Cells> table = {{"file", "input", "layers", "tensors", "parameters", "bytes (fp32)", "GMACs"}};
  for (const fs::path& file : json_files(find_folder("models"))) {
    const Model model = read_model(Document::read(file));
    table.push_back({file.string(), format_shape(model.input), fmt::format("{}", model.layers.size()), fmt::format("{}", model.tensors()),
                     fmt::format("{:.0f}", model.parameters()), format_bytes(Bytes(4 * model.parameters())),
                     fmt::format("{:.4g}", model.macs() / 1e9)});
  }
  fmt::print("{}", format_table(table));
}

void print_devices() {
  std::vector<Cells> table = {{"file", "name", "dtype", "error"}};
  for (const fs::path& file : json_files(find_folder("models/devices"))) {
    const DeviceProfile profile = read_device_profile(Document::read(file));
    table.push_back({file.string(), profile.name, profile.dtype, profile.describe_errors()});
  }
  fmt::print("{}", format_table(table));
}

void print_traces() {
  std::vector<Cells> table = {{"file", "model", "batch", "device", "provenance", "gradients", "bytes"}};
  for (const fs::path& file : json_files(find_folder("traces"))) {
    const Trace trace = read_trace(Document::read(file));
    Bytes bytes;
    for (const Gradient& gradient : trace.gradients) bytes += gradient.bytes;
    table.push_back({file.string(), trace.model, fmt::format("{}", trace.batch), trace.device, trace.provenance.kind,
                     fmt::format("{}", trace.gradients.size()), format_bytes(bytes)});
  }
  fmt::print("{}", format_table(table));
}

}  // namespace

void add_list_command(CLI::App& app) {
  const auto what = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("list", "List what a scenario can name");
  command->add_option("WHAT", *what, "schedules, collectives, topologies, clusters, models, devices or traces")
      ->required()
      ->check(CLI::IsMember({"schedules", "collectives", "topologies", "clusters", "models", "devices", "traces"}));
  command->footer("Example: simctl list schedules");
  command->callback([what] {
    if (*what == "schedules") print_schedules();
    if (*what == "collectives") print_collectives();
    if (*what == "topologies") print_topologies();
    if (*what == "clusters") print_clusters();
    if (*what == "models") print_models();
    if (*what == "devices") print_devices();
    if (*what == "traces") print_traces();
  });
}

}  // namespace syncopate
