#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "base/files.hpp"
#include "base/interruption.hpp"
#include "base/processes.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "export/iteration.hpp"
#include "export/messages.hpp"
#include "export/writers.hpp"
#include "run/cost.hpp"
#include "run/limits.hpp"
#include "scenario/scenario.hpp"
#include "simctl/commands.hpp"
#include "simctl/limits.hpp"
#include "simctl/settings.hpp"
#include "simctl/summary.hpp"

namespace syncopate {

namespace {

namespace fs = std::filesystem;

struct ExportOptions {
  std::string scenario;
  SettingOptions settings;
  std::optional<std::string> point;
  std::string format;
  std::string folder;
  bool force = false;
  LimitOptions limits;
};

/// A folder beside the one that an export is for, or in it if it is there already. Its files come there together.
class NewFolder {
 public:
  explicit NewFolder(const fs::path& target) {
    std::error_code ignored;
    target_ = fs::weakly_canonical(fs::absolute(target), ignored);
    if (!target_.has_filename()) target_ = target_.parent_path();
    is_there_ = fs::exists(target_, ignored);
    place_ = is_there_ ? target_ / fmt::format(".export.{}", getpid())
                       : target_.parent_path() / fmt::format(".{}.{}", target_.filename().string(), getpid());
    make_writable_folder(place_.parent_path());
    make_writable_folder(place_);
  }
  ~NewFolder() {
    std::error_code ignored;
    fs::remove_all(place_, ignored);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  void write(const std::string& name, std::string_view text) const { replace_file(place_ / name, text, Durability::cached); }

  /// Moves the files to the target, in place of an earlier export's.
  void arrive() const {
    try {
      std::string entries = fmt::format("{}\n", list_of_entries);
      for (const auto& entry : fs::directory_iterator(place_)) entries += entry.path().filename().string() + '\n';
      write(list_of_entries, entries);
      if (!is_there_) return fs::rename(place_, target_);
      for (const std::string& entry : entries_of_export(target_)) fs::remove_all(target_ / entry);
      for (const auto& entry : fs::directory_iterator(place_)) fs::rename(entry.path(), target_ / entry.path().filename());
    } catch (const fs::filesystem_error& error) {
      throw OutputError(fmt::format("-o {}: cannot be written: {}; choose another folder", target_.string(), error.code().message()));
    }
  }

  /// The files and folders that an export in this folder has; none if it has no export.
  static std::vector<std::string> entries_of_export(const fs::path& folder) {
    std::vector<std::string> entries;
    std::ifstream list(folder / list_of_entries);
    for (std::string entry; std::getline(list, entry);) {
      const bool is_own = !entry.empty() && entry != "." && entry != ".." && entry.find('/') == std::string::npos;
      if (is_own) entries.push_back(entry);
    }
    return entries;
  }

  static constexpr const char* list_of_entries = "export.txt";  ///< in an export: what belongs to it

 private:
  fs::path target_;
  bool is_there_ = false;
  fs::path place_;
};

/// Throws UsageError for a folder with files, unless they may be replaced.
void check_folder(const ExportOptions& options) {
  std::error_code ignored;
  if (options.folder.empty() || options.folder == "-")
    throw UsageError(fmt::format("-o {}: an export is several files; name a folder", options.folder));
  const fs::path folder = options.folder;
  if (fs::exists(fs::symlink_status(folder, ignored)) && !fs::is_directory(folder, ignored))
    throw OutputError(
        fmt::format("-o {}: cannot be used as an output folder: it is a file, or a link to nothing; choose another", options.folder));
  if (options.force && fs::is_directory(folder, ignored) && !fs::is_empty(folder, ignored) &&
      NewFolder::entries_of_export(folder).empty()) {
    throw UsageError(
        fmt::format("-o {}: --force replaces an export, and there are other files in that folder ({} is missing); choose another",
                    options.folder, NewFolder::list_of_entries));
  }
  if (!options.force && fs::is_directory(folder, ignored) && !fs::is_empty(folder, ignored)) {
    throw UsageError(
        fmt::format("-o {}: there are files in that folder; choose another, or replace an earlier export with --force", options.folder));
  }
}

/// Writes the export of a point. Returns what there is to say of it.
std::string write_export(const Scenario& scenario, const std::string& format, const NewFolder& folder) {
  Setup setup(scenario, {.explain = true});  // which records what a program awaits
  const bool as_messages = format != "chakra";
  if (as_messages && scenario.cluster.is_fitted())
    throw SimulationError(
        "the cluster is a measured line (\"fit\"), which has no messages; export with --to chakra, or use a cluster with links");
  if (as_messages && scenario.all_reduce.in_network && scenario.schedule.traffic.has_collectives()) {
    throw SimulationError(
        fmt::format(R"("{}" all-reduces have no messages between ranks; export with --to chakra, or use another "all_reduce")",
                    scenario.all_reduce.name));
  }
  const Iteration iteration = simulate_iteration(setup, !as_messages);
  std::size_t files = 0;
  const WriteFile write = [&](const std::string& name, std::string_view text) {
    folder.write(name, text);
    ++files;
  };
  std::string what = fmt::format("{} ranks", iteration.programs.size());
  if (as_messages) {
    const Messages messages = messages_of(iteration, setup.planned());
    std::size_t sends = 0;
    for (const Operand& operand : messages.operands) sends += operand.kind == Operand::Kind::send ? 1 : 0;
    what += fmt::format(", {} messages", sends);
    if (format == "goal") {
      write_goal(messages, write);
    } else {
      write_smpi(messages, setup.network(), iteration.end, write);
    }
  } else {
    write_chakra(iteration, "iteration", write);
  }
  const std::string of = iteration.steps == 1 ? "an iteration" : fmt::format("a cycle of {} iterations", iteration.steps);
  const std::size_t collectives = iteration.collectives.size();
  return fmt::format("{} that begins at rest: {}, {} collective{}, {} file{}\nsimctl's time: {:.9g} s\n", of, what, collectives,
                     collectives == 1 ? "" : "s", files, files == 1 ? "" : "s", iteration.end.value);
}

void export_point(const ExportOptions& options) {
  check_folder(options);
  const Study study = read_study(options.scenario, read_settings(options.settings, options.scenario));
  const Point& point = chosen_point(study, options.scenario, "--point", options.point);
  const auto fail = [&](const std::string& why, ExitCode code) {
    throw Error(code, fmt::format("{}: point {}: {}", study.file, point.index, why));
  };
  const Limits limits = read_limits(options.limits);
  if (!point.scenario.jobs) {
    if (const std::string excess = describe_excess(point.scenario, limits); !excess.empty()) fail(excess, ExitCode::simulation_failed);
  }
  const InterruptionWatch watch;
  const NewFolder folder(options.folder);
  const Outcome outcome =
      run_apart([&] { return write_export(point.scenario, options.format, folder); }, InterruptionWatch::interrupted,
                {.most_time = limits.time, .overdue = [&](const RunningTask& task) {
                   return fmt::format("not done after {}; use fewer nodes, merge gradients, or allow more time", format_seconds(task.time));
                 }});
  if (InterruptionWatch::interrupted()) throw Interrupted();
  if (!outcome.ok) fail(outcome.error, outcome.code);
  folder.arrive();
  display("{}: {}", options.folder, outcome.result);
}

}  // namespace

void add_export_command(CLI::App& app) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App* command = app.add_subcommand("export", "Write an iteration of an all-reduce schedule for other simulators");
  command->add_option("SCENARIO", options->scenario, "scenario/1 file, or a name that \"simctl list scenarios\" shows; - is stdin")
      ->required();
  command->add_option("--point", options->point, "which point of its sweep");
  command
      ->add_option("--to", options->format,
                   "smpi: time-independent traces and a platform for SimGrid; goal: a program for LogGOPSim; chakra: MLCommons execution "
                   "traces")
      ->check(CLI::IsMember({"smpi", "goal", "chakra"}))
      ->required();
  command->add_option("-o,--output", options->folder, "the folder for the files")->required();
  command->add_flag("--force", options->force, "replace an earlier export there");
  add_setting_options(*command, options->settings);
  add_limit_options(*command, options->limits, "the simulation");
  command->footer("Example: simctl export quickstart --point 0 --to smpi -o results/smpi");
  command->callback([options] { export_point(*options); });
}

}  // namespace syncopate
