#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/files.hpp"
#include "base/project_files.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "scenario/read.hpp"
#include "schedule/schedules.hpp"
#include "simctl/checked_output.hpp"
#include "simctl/commands.hpp"
#include "simctl/node_overlap.hpp"
#include "simctl/settings.hpp"

namespace syncopate {

namespace {

namespace fs = std::filesystem;

/// GPUs of one model differ by 8% (P. Sinha et al., SC'22, on average over clusters and programs), taken as two standard deviations to
/// either side.
constexpr double usual_jitter = 0.02;
/// Of a GPU's layers beside communication: 18.9% longer on average, at most 40%, on A100, H100, MI210 and MI250 ("Characterizing
/// Compute-Communication Overlap in GPU-Accelerated Distributed Deep Learning", 2025, arXiv:2507.03114).
constexpr double usual_overlap_slowdown = 0.19;

struct NewOptions {
  std::string file;
  std::string trace = "cpu-resnet50-b8";
  std::string cluster = "10gbe";
  std::string nodes;
  std::string schedules = "s-sgd,wfbp,mg-wfbp,fusion";
  std::string node;
  int channels = 16;
  bool force = false;
};

std::vector<Json> read_schedules(const std::string& list) {
  if (list != "all") return read_schedule_list(list, "--schedule");
  std::vector<Json> all;
  for (const ScheduleRow& row : schedules()) all.push_back(with_paper_values(row));
  return all;
}

/// Like Json::dump, with a space after commas and colons.
std::string inline_json(const Json& value) {
  if (!value.is_structured()) return value.dump();
  std::vector<std::string> members;
  for (const auto& [key, member] : value.items()) {
    members.push_back(value.is_array() ? inline_json(member) : fmt::format("{}: {}", Json(key).dump(), inline_json(member)));
  }
  return fmt::format("{}{}{}", value.is_array() ? "[" : "{", fmt::join(members, ", "), value.is_array() ? "]" : "}");
}

/// One line per key and per list of the sweep. An empty line precedes every "x-help-" key.
std::string format_scenario(const Json& scenario) {
  std::vector<std::string> lines;
  for (const auto& [key, value] : scenario.items()) {
    std::string text = inline_json(value);
    if (key == "sweep" && !value.empty()) {
      std::vector<std::string> lists;
      for (const auto& [pointer, values] : value.items())
        lists.push_back(fmt::format("\n    {}: {}", Json(pointer).dump(), inline_json(values)));
      text = fmt::format("{{{}\n  }}", fmt::join(lists, ","));
    }
    lines.push_back(fmt::format("{}  {}: {}", key.starts_with("x-help-") ? "\n" : "", Json(key).dump(), text));
  }
  return fmt::format("{{\n{}\n}}\n", fmt::join(lines, ",\n"));
}

/// Throws InputError unless a scenario may hold the name or path as it is.
std::string require_plain(std::string text) {
  if (printable(text) == text) return text;
  throw InputError(fmt::format("{}: expected UTF-8 without control characters; rename it", text));
}

class NewScenario {
 public:
  explicit NewScenario(const NewOptions& options)
      : is_file_(!options.file.empty()),
        folder_(fs::path(options.file).parent_path()),
        name_(options.file.empty() ? "mine" : require_plain(fs::path(options.file).stem().string())),
        trace_(reference(options.trace, FileKind::trace)),
        cluster_(reference(options.cluster, FileKind::cluster)),
        library_(folder_) {
    if (!options.node.empty()) {
      overlap_slowdown_ = std::round(1e3 * overlap_slowdown_of_node(Document::read(options.node), options.channels)) / 1e3;
      slowdown_origin_ = fmt::format("here beside {} blocks of {}", options.channels, require_plain(way_from(folder_, options.node)));
    }
    const std::vector<Json> wanted = read_schedules(options.schedules);
    nodes_ = options.nodes.empty() ? usual_nodes() : read_node_list(options.nodes, "--nodes");
    for (const Json& schedule : wanted) {
      try {
        check(schedule, nodes_);
        schedules_.push_back(schedule);
      } catch (const InputError& error) {
        if (options.schedules != "all") throw;
        left_out_.push_back(schedule["name"].get<std::string>());
      }
    }
    if (schedules_.empty()) check(wanted.front(), nodes_);
  }

  const std::vector<std::string>& left_out() const { return left_out_; }
  std::size_t points() const { return schedules_.size() * std::max<std::size_t>(1, nodes_.size()); }

  std::string text() const {
    Json sweep = Json::object();
    if (!nodes_.empty()) sweep["/cluster/nodes"] = nodes_;
    if (schedules_.size() > 1) sweep["/schedule"] = schedules_;
    Json start = {{"format", "scenario/1"}};
    const auto schema = find_file(folder_of(FileKind::scenario) / "schemas/scenario.schema.json");
    if (is_file_ && schema) start["$schema"] = way_to(*schema);
    const Json explained = {
        {"x-help", "Keys that begin with x- are ignored; those here explain what follows them. All of it: scenarios/FORMAT.md"},
        {"x-help-name", "for people and reports"},
        {"name", name_},
        {"x-help-trace",
         "your model, as seconds per layer on one device: a file, relative to this one, or a name that \"simctl list traces\" shows; "
         "\"simctl "
         "trace import\" makes one of a PyTorch profile, \"simctl trace synth\" of a model and a device. \"trace_factor\": 1.1 would "
         "multiply its times"},
        {"trace", trace_},
        {"x-help-granularity", "what is a gradient: each \"tensor\", or all tensors of a \"layer\" together"},
        {"granularity", "tensor"},
        {"x-help-cluster",
         "your nodes and the network between them: a file, relative to this one, or a name that \"simctl list clusters\" shows; \"simctl "
         "cluster "
         "fit\" makes one of a benchmark. A sweep, or --set, may change what is in it: /cluster/link/bandwidth, /cluster/gpus_per_node, "
         "..."},
        {"cluster", cluster_},
        {"x-help-fidelity",
         "how bytes move: \"alpha-beta\" (a collective is one event), \"per-message\" (messages have links of their own), \"flow\" "
         "(messages share links), \"simgrid\" (messages are SimGrid's), or \"auto\", per-message or flow, which is deep enough"},
        {"fidelity", "auto"},
        {"x-help-all_reduce",
         "the algorithm, which \"simctl list collectives\" shows (\"auto\": the fastest for each size); \"channels\": 2 would have two of "
         "them in flight at a time"},
        {"all_reduce", "auto"},
        {"x-help-schedule",
         "who communicates when: a name and its parameters, which \"simctl list schedules\" shows. What the sweep says comes before it"},
        {"schedule", schedules_.front()},
        {"x-help-workers",
         "what makes workers unequal: \"jitter\" from step to step (2% stands for how much GPUs of one model differ), \"slow\": "
         "[{\"ranks\": \"0\", "
         "\"factor\": 1.5}] for good, \"traces\": [{\"ranks\": \"4-7\", \"trace\": NAME}] of other GPUs, \"events\": [{\"kind\": "
         "\"pause\", \"rank\": 3, \"at_s\": 10, \"for_s\": 5}], \"overlap_slowdown\" of "
         "layers while something moves (" +
             slowdown_origin_ + ")"},
        {"workers", workers()},
        {"x-help-iterations",
         "steps before the measured window. It is as long as a steady mean needs; \"measured\": 10 would fix that, \"until\": 0.01 would "
         "measure until the mean is known to 1%"},
        {"iterations", {{"warmup", 2}}},
        {"x-help-replicates", "so many simulations with other seeds, for means with their intervals, where something is drawn at random"},
        {"replicates", 1},
        {"x-help-seed",
         "of what is drawn at random. \"samples\" of an epoch and \"epochs\" would give hours of training; \"run\", "
         "those of days with failures and checkpoints; \"jobs\", several trainings on one network"},
        {"seed", 1},
        {"x-help-sweep", "JSON pointers to lists of values; every combination of these is a point"},
        {"sweep", sweep}};
    start.update(explained);
    return format_scenario(start);
  }

 private:
  /// How the scenario names a file: by its name if that means the same file there, else by its relative path.
  std::string reference(const std::string& text, FileKind kind) const {
    const fs::path file = named_file(text, {kind});
    require_readable_file(file);
    const bool is_name = text.find('/') == std::string::npos && !text.ends_with(".json");
    return require_plain(is_name && fs::equivalent(named_file(text, {kind}, folder_), file) ? text : way_from(folder_, file));
  }

  Json workers() const {
    Json workers = {{"jitter", {{"distribution", "lognormal"}, {"cv", usual_jitter}}}};
    if (overlap_slowdown_ || is_of_gpu_) workers["overlap_slowdown"] = overlap_slowdown_.value_or(usual_overlap_slowdown);
    return workers;
  }

  /// The schema's path for an editor: relative if both files are in one tree, so that the tree can be moved, else absolute.
  std::string way_to(const fs::path& schema) const {
    const fs::path file = fs::canonical(schema);
    const fs::path tree = file.parent_path().parent_path().parent_path();
    const fs::path folder = fs::weakly_canonical(fs::current_path() / folder_);
    const bool is_inside = *folder.lexically_relative(tree).begin() != "..";
    return (is_inside ? file.lexically_relative(folder) : file).string();
  }

  /// Throws InputError unless the schedule runs on each of these numbers of nodes. Empty: the cluster's own number.
  void check(const Json& schedule, const std::vector<int>& nodes) {
    const Document scenario({{"format", "scenario/1"}, {"name", name_}, {"trace", trace_}, {"cluster", cluster_}, {"schedule", schedule}},
                            name_ + ".json");
    const auto read = [&](std::vector<std::pair<std::string, Json>> changes) {
      is_of_gpu_ = read_scenario(scenario, std::move(changes), "", library_).trace->device_kind == "gpu";
    };
    if (nodes.empty()) read({});
    for (const int count : nodes) read({{"/cluster/nodes", count}});
  }

  /// Empty if the cluster has a fixed size.
  std::vector<int> usual_nodes() {
    std::vector<int> usual = {4, 8, 16, 32, 64};
    try {
      check({{"name", "wfbp"}}, usual);
      return usual;
    } catch (const InputError&) {
      return {};
    }
  }

  bool is_file_;
  fs::path folder_;
  std::string name_;
  std::string trace_;
  std::string cluster_;
  Library library_;
  std::optional<double> overlap_slowdown_;  ///< of a node file
  std::string slowdown_origin_ = "published for GPUs: 0.19 on average, up to 0.4";
  bool is_of_gpu_ = false;  ///< the trace
  std::vector<int> nodes_;
  std::vector<Json> schedules_;
  std::vector<std::string> left_out_;
};

void make_scenario(NewOptions options) {
  if (options.file == "-") options.file.clear();
  if (!options.file.empty()) check_output(options.file, {options.node});
  require_new("", options.file, options.force);
  const NewScenario scenario(options);
  if (!scenario.left_out().empty()) {
    complain("simctl: left out, because they do not run on {}: {}", options.cluster, fmt::join(scenario.left_out(), ", "));
  }
  if (options.file.empty()) {
    print_data(scenario.text());
    return;
  }
  write_output(options.file, scenario.text());
  display("{}: {} points; change what you like, then: {}\n", options.file, scenario.points(),
          command_line({own_command(), "run", options.file}));
}

}  // namespace

void add_new_command(CLI::App& app) {
  const auto options = std::make_shared<NewOptions>();
  CLI::App* command = app.add_subcommand("new", "Write a scenario to start from, every key of which is explained");
  command->add_option("FILE", options->file, "scenario/1 file to write; none, or -: stdout");
  command->add_option("--trace", options->trace, "trace/1 file, or a name that \"simctl list traces\" shows")->capture_default_str();
  command->add_option("--cluster", options->cluster, "cluster/1 file, or a name that \"simctl list clusters\" shows")
      ->capture_default_str();
  command->add_option("--nodes", options->nodes, "numbers of nodes (default: 4,8,16,32,64, if the cluster can have them)");
  command->add_option("--schedule,--schedules", options->schedules, "names that \"simctl list schedules\" shows, or all")
      ->capture_default_str();
  CLI::Option* node =
      command->add_option("--node-file", options->node, "node/1 file, which nodeprobe writes, to take workers.overlap_slowdown from");
  command->add_option("--channels", options->channels, "of a collective, which are the blocks beside which --node-file has slowdowns")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->needs(node);
  command->add_flag("--force", options->force, "overwrite the file");
  command->footer("Example: simctl new - --trace cpu-resnet50-b8 --cluster 25gbe --nodes 8,16");
  command->callback([options] { make_scenario(*options); });
}

}  // namespace syncopate
