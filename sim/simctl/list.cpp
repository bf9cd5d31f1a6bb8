#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "base/fields.hpp"
#include "base/project_files.hpp"
#include "base/table.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cluster/cluster.hpp"
#include "cluster/link_kinds.hpp"
#include "cluster/topologies.hpp"
#include "collective/algorithms.hpp"
#include "device/device_profile.hpp"
#include "model/model.hpp"
#include "output/figures.hpp"
#include "schedule/schedules.hpp"
#include "simctl/commands.hpp"
#include "trace/trace.hpp"

namespace syncopate {

namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

/// The same rows for a page.
std::string markdown_table(const std::vector<Texts>& rows) {
  std::string text;
  for (const Texts& row : rows) {
    text += fmt::format("| {} |\n", fmt::join(row, " | "));
    if (&row != &rows.front()) continue;
    for (std::size_t column = 0; column < row.size(); ++column) text += "|---";
    text += "|\n";
  }
  return text;
}

std::string page_of_schedules() {
  const fs::path page = "sim/schedule/README.md";
  return shown(find_file(page).value_or(page)).string();
}

void print_schedules() {
  std::vector<Texts> names = {{"schedule", "meaning"}};
  for (const ScheduleRow& row : schedules()) names.push_back({std::string(row.name), std::string(row.meaning)});
  display("{}\none of them with its parameters: simctl list schedules dts; what each does, exactly: {}\n", format_table(names),
          page_of_schedules());
}

/// The tables of the schedules' page.
void print_schedules_as_markdown() {
  std::vector<Texts> parameters = {{"schedule", "parameter", "values", "default", "meaning"}};
  std::vector<Texts> papers = {{"schedule", "paper"}};
  for (const ScheduleRow& row : schedules()) {
    if (!row.paper.empty()) papers.push_back({std::string(row.name), std::string(row.paper)});
    for (const ParameterInfo& one : row.parameters) {
      const Texts cells = {std::string(row.name), one.name, describe_values(one), one.default_value, one.meaning};
      const auto same = [&](const Texts& other) { return std::equal(cells.begin() + 1, cells.end(), other.begin() + 1); };
      const auto known = std::find_if(parameters.begin(), parameters.end(), same);
      if (known == parameters.end()) {
        parameters.push_back(cells);
      } else {
        known->front() += fmt::format(", {}", row.name);
      }
    }
  }
  display("{}\n{}", markdown_table(parameters), markdown_table(papers));
}

void print_figures(bool markdown) {
  std::vector<Texts> table = {{"name", "unit", "meaning"}};
  if (!markdown) table.front().emplace_back("over replicates");
  for (const Figure& figure : figures()) {
    std::string meaning = figure.description();
    if (markdown) {
      table.push_back({fmt::format("`{}`", figure.name), std::string(figure.unit), std::move(meaning)});
    } else {
      std::erase(meaning, '`');
      table.push_back({std::string(figure.name), std::string(figure.unit), std::move(meaning), std::string(to_string(figure.averaging))});
    }
  }
  display("{}", markdown ? markdown_table(table) : format_table(table));
}

void print_collectives() {
  std::vector<Texts> table = {{"all_reduce", "meaning", "caveat"}};
  for (const Algorithm& row : algorithms()) table.push_back({std::string(row.name), std::string(row.meaning), std::string(row.caveat)});
  table.push_back(
      {"two-level", "a ring among a node's GPUs and \"between\" (ring) among the nodes; what every name means with several GPUs", ""});
  table.push_back(
      {"by-region", "on regions: added up in each of them, round a ring of their first nodes, spread; other operations as a ring", ""});
  table.push_back({in_network_all_reduce().name,
                   "switches add up (SHARP; with \"inside\": \"in-network\", and on one node, NVLS): every rank sends its bytes once, and "
                   "gets the sum; other "
                   "operations as a ring",
                   ""});
  table.push_back({"auto",
                   "for each collective's bytes the fastest of ring, halving-doubling and recursive-doubling; with a fit, what it measured",
                   ""});
  display("{}", format_table(table));
}

void print_topologies() {
  std::vector<Texts> table = {{"topology", "meaning", "parameters"}};
  for (const TopologyRow& row : topologies())
    table.push_back({std::string(row.name), std::string(row.meaning), std::string(row.parameters)});
  display("{}", format_table(table));
}

void print_link_kinds(bool markdown) {
  std::vector<Texts> table = {{"kind", "Gb/s", "results", "low", "median", "high", "meaning"}};
  for (const LinkKind& kind : link_kinds()) {
    table.push_back({std::string(kind.name), kind.gbps == 0 ? "any" : fmt::format("{:g}", kind.gbps), fmt::format("{}", kind.results),
                     fmt::format("{:g}", kind.low), fmt::format("{:g}", kind.median), fmt::format("{:g}", kind.high),
                     std::string(kind.meaning)});
  }
  display("{}", markdown ? markdown_table(table) : format_table(table));
}

/// Rows of files of a kind; one with an error does not hide the others. What has another format is somebody else's.
class FileTable {
 public:
  explicit FileTable(Cells header) : rows_({std::move(header)}) {}

  /// `row` gives the cells after the name.
  template <class Row>
  void print(FileKind kind, Row&& row) {
    std::vector<std::string> errors;
    std::vector<std::string> places;
    for (const fs::path& file : project_files(kind)) {
      try {
        const Document document = Document::read(file);
        if (!is_of(kind, document)) continue;
        Cells cells = row(document);
        cells.insert(cells.begin(), file.stem().string());
        rows_.push_back(std::move(cells));
        const std::string place = shown(file.parent_path() / "NAME.json").string();
        if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
      } catch (const InputError& error) {
        errors.emplace_back(error.what());
      }
    }
    display("{}files: {}\n", format_table(rows_), fmt::join(places, ", "));
    if (!errors.empty()) throw InputError(fmt::format("{}", fmt::join(errors, "\nsimctl: ")));
  }

 private:
  static bool is_of(FileKind kind, const Document& document) {
    const Json& root = document.root();
    return root.is_object() && root.contains("format") && root["format"].is_string() &&
           root["format"].get_ref<const std::string&>().starts_with(fmt::format("{}/", name_of(kind)));
  }

  std::vector<Cells> rows_;
};

void print_scenarios() {
  FileTable({"scenario", "about"}).print(FileKind::scenario, [](const Document& document) {
    Object fields{Field(document)};
    fields.format("scenario/1", true);
    return Cells{fields.at("name").text()};
  });
}

void print_clusters() {
  FileTable({"cluster", "bandwidth", "latency", "source"}).print(FileKind::cluster, [](const Document& document) {
    const Cluster cluster = read_cluster(document);
    if (cluster.regions) return Cells{fmt::format("{} regions", cluster.regions->list.size()), "", cluster.source};
    return Cells{fmt::format("{:.4g} Gb/s", cluster.link.bandwidth.value * 8 / 1e9), cluster.link.latency, cluster.source};
  });
}

void print_models() {
  FileTable({"model", "input", "layers", "tensors", "parameters", "bytes (fp32)", "GMACs"})
      .print(FileKind::model, [](const Document& document) {
        const Model model = read_model(document);
        return Cells{format_shape(model.input),          fmt::format("{}", model.layers.size()),
                     fmt::format("{}", model.tensors()), fmt::format("{:.0f}", model.parameters()),
                     Bytes(4 * model.parameters()),      fmt::format("{:.4g}", model.macs() / 1e9)};
      });
}

void print_devices() {
  FileTable({"device", "name", "dtype", "error"}).print(FileKind::device, [](const Document& document) {
    const DeviceProfile profile = read_device_profile(document);
    return Cells{profile.name, profile.dtype, profile.describe_errors()};
  });
}

void print_advice() {
  FileTable({"advice", "objective", "trace"}).print(FileKind::advice, [](const Document& document) {
    Object fields{Field(document)};
    fields.format("advice/1", true);
    const auto objective = fields.find("objective");
    const auto trace = fields.at("trace");
    return Cells{objective ? objective->text() : "time", trace.is_text() ? fs::path(trace.text()).stem().string() : ""};
  });
}

void print_traces() {
  FileTable({"trace", "model", "batch", "device", "provenance", "gradients", "bytes"}).print(FileKind::trace, [](const Document& document) {
    const Trace trace = read_trace(document);
    Bytes bytes;
    for (const Gradient& gradient : trace.gradients) bytes += gradient.bytes;
    return Cells{
        trace.model, fmt::format("{}", trace.batch), trace.device, trace.provenance.kind, fmt::format("{}", trace.gradients.size()), bytes};
  });
}

}  // namespace

const ScheduleRow* find_schedule(const std::string& name) {
  const auto& all = schedules();
  const auto row = std::find_if(all.begin(), all.end(), [&name](const ScheduleRow& one) { return one.name == name; });
  return row == all.end() ? nullptr : &*row;
}

void print_schedule(const ScheduleRow& schedule) {
  display("schedule {}: {}\n", schedule.name, schedule.meaning);
  if (!schedule.paper.empty()) display("paper: {}\n", schedule.paper);
  display("what it does, exactly: {}\n", page_of_schedules());
  if (schedule.parameters.empty()) return display("it has no parameters\n");
  std::vector<Texts> table = {{"parameter", "values", "default", "meaning"}};
  for (const ParameterInfo& one : schedule.parameters) {
    const bool is_required = one.default_value.empty();
    table.push_back(
        {one.name, describe_values(one), is_required ? fmt::format("none; paper: {}", one.paper_value) : one.default_value, one.meaning});
  }
  display("\n{}", format_table(table));
}

Json schedule_json(const ScheduleRow& schedule) {
  Json json = {{"format", "show/1"},          {"kind", "schedule"},      {"name", schedule.name},
               {"meaning", schedule.meaning}, {"paper", schedule.paper}, {"page", page_of_schedules()}};
  Json& parameters = json["parameters"] = Json::array();
  for (const ParameterInfo& one : schedule.parameters) {
    const bool is_required = one.default_value.empty();
    parameters.push_back({{"name", one.name},
                          {"values", describe_values(one)},
                          {"default", is_required ? Json() : Json(one.default_value)},
                          {"paper", is_required ? Json(one.paper_value) : Json()},
                          {"meaning", one.meaning}});
  }
  return json;
}

void add_list_command(CLI::App& app) {
  const auto what = std::make_shared<std::string>();
  const auto schedule = std::make_shared<std::string>();
  const auto markdown = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("list", "List what a scenario or a command can name");
  command
      ->add_option("WHAT", *what,
                   "schedules, collectives, topologies, link-kinds, columns (of results), scenarios, advice, clusters, models, devices or "
                   "traces")
      ->required()
      ->check(CLI::IsMember({"schedules", "collectives", "topologies", "link-kinds", "columns", "figures", "scenarios", "advice",
                             "clusters", "models", "devices", "traces"}));
  command->add_option("NAME", *schedule, "of schedules, this one with its parameters");
  command->add_flag("--markdown", *markdown, "schedules' parameters and papers, columns or link-kinds, as the tables of a page");
  command->footer("Example: simctl list schedules");
  command->callback([what, schedule, markdown] {
    if (!schedule->empty()) {
      if (*what != "schedules")
        throw UsageError(fmt::format("{} {}: a name goes with schedules; \"simctl show NAME\" shows a file", *what, *schedule));
      if (const ScheduleRow* row = find_schedule(*schedule)) return print_schedule(*row);
      std::vector<std::string> names;
      for (const ScheduleRow& row : schedules()) names.emplace_back(row.name);
      throw UsageError(fmt::format("no schedule is called \"{}\"{}", *schedule, did_you_mean(*schedule, names)));
    }
    if (*what == "schedules") *markdown ? print_schedules_as_markdown() : print_schedules();
    if (*what == "collectives") print_collectives();
    if (*what == "topologies") print_topologies();
    if (*what == "link-kinds") print_link_kinds(*markdown);
    if (*what == "figures" || *what == "columns") print_figures(*markdown);
    if (*what == "scenarios") print_scenarios();
    if (*what == "advice") print_advice();
    if (*what == "clusters") print_clusters();
    if (*what == "models") print_models();
    if (*what == "devices") print_devices();
    if (*what == "traces") print_traces();
  });
}

}  // namespace syncopate
