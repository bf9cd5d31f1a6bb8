#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/files.hpp"
#include "base/indexed.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "engine/simulate.hpp"
#include "run/point.hpp"
#include "simctl/commands.hpp"
#include "simctl/summary.hpp"
#include "store/run_folder.hpp"

namespace syncopate {

namespace {

namespace fs = std::filesystem;

struct MergeOptions {
  std::vector<std::string> folders;
  std::string out;
  bool force = false;
  bool quiet = false;
};

std::optional<EndedPoint> read_point(const RunFolder& study, int point, const std::string& folder) try {
  return study.read(point, folder);
} catch (const InputError& error) {
  throw InputError(fmt::format("{}; simulate the point again there, with simctl run --resume, and merge then", error.what()));
}

/// How a point ended in these folders. A result wins over failures; of failures, the first in alphabetical order. Throws SimulationError if
/// two folders have different results, InputError if a point's file was changed.
std::optional<EndedPoint> find_in(const std::vector<std::string>& folders, const RunFolder& study, int point) {
  std::optional<EndedPoint> found;
  std::string where;
  for (const std::string& folder : folders) {
    std::optional<EndedPoint> ended = read_point(study, point, folder);
    if (!ended) continue;
    const bool is_first = !found || (!found->result && (ended->result || ended->error < found->error));
    if (!is_first && ended->result && found->result->to_json() != ended->result->to_json()) {
      throw SimulationError(
          fmt::format("point {}: {} and {} have different results, which the same program gives of the same inputs only where "
                      "a machine errs, or where one of them has a timeline, which may round the last digits otherwise: points/{}.json; "
                      "remove the one that you trust less",
                      point, where, folder, study.key(point)));
    }
    if (!is_first) continue;
    found = std::move(ended);
    where = folder;
  }
  return found;
}

/// The timelines, dataflow records and explanations in folders other than `out`. Throws InputError for a link: it could bring in any file
/// of this machine.
std::vector<fs::path> files_to_copy(const std::vector<std::string>& folders, const fs::path& out) {
  std::vector<fs::path> files;
  for (const fs::path folder : folders) {
    std::error_code ignored;
    if (fs::equivalent(folder, out, ignored)) continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (!is_about_a_point(entry.path().filename().string())) continue;
      if (!fs::is_regular_file(entry.symlink_status())) {
        throw InputError(fmt::format("{}: expected a file, got {}; merge copies only files: put the file itself there, or remove it",
                                     entry.path().string(), entry.is_symlink() ? "a link" : "something else"));
      }
      files.push_back(entry.path());
    }
  }
  return files;
}

ExitCode merge(const MergeOptions& options) {
  if (options.out == "-") throw UsageError("-o -: a whole study is a folder of files; name one");
  const FoundStudy found = read_study_of(options.folders.front());
  RunFolder out(options.out, found.study, found.shortcuts);
  for (const std::string& folder : options.folders) out.require_same_study(folder);
  std::vector<EndedPoint> ended;
  std::vector<int> missing;
  for (const Point& point : found.study.points) {
    const std::optional<EndedPoint> found_end = find_in(options.folders, out, point.index);
    if (!found_end) missing.push_back(point.index);
    ended.push_back(found_end.value_or(EndedPoint()));
  }
  if (!missing.empty()) {
    throw SimulationError(fmt::format("{} of {} points are missing: {}; simctl run with --resume or --shard adds them", missing.size(),
                                      found.study.points.size(), format_ranges(missing)));
  }
  const bool is_one_of_them = std::any_of(options.folders.begin(), options.folders.end(), [&](const std::string& folder) {
    std::error_code ignored;
    return fs::equivalent(folder, options.out, ignored);
  });
  const std::vector<fs::path> others = files_to_copy(options.folders, out.path());
  out.enter(options.force && !is_one_of_them ? RunFolder::Entry::overwrite : RunFolder::Entry::go_on);
  Results results;
  results.simgrid_version = simgrid_version();
  for (const Point& point : found.study.points) {
    const EndedPoint& end = ended[at(point.index)];
    out.keep(point.index, end);
    out.sync_now_and_then(point.index);
    if (end.result) {
      results.rows.push_back(make_row(point, *end.result));
    } else {
      results.failed.push_back({point.index, end.error});
    }
  }
  for (const fs::path& file : others) write_file(out.path() / file.filename(), read_file(file, std::numeric_limits<std::size_t>::max()));
  out.write(results, true, true);
  if (!options.quiet) {
    print_study(results, found.study);
    print_where(options.out);
  }
  for (const auto& [point, error] : results.failed) complain("simctl: {}: point {}: {}", found.study.file, point, error);
  return results.failed.empty() ? ExitCode::done : ExitCode::simulation_failed;
}

}  // namespace

void add_merge_command(CLI::App& app, ExitCode& code) {
  const auto options = std::make_shared<MergeOptions>();
  CLI::App* command = app.add_subcommand("merge", "Merge the results of a study's shards into one folder");
  command->add_option("DIR", options->folders, "folders of simctl run -o DIR, of one study")->required();
  command->add_option("-o,--output", options->out, "folder for the merged results, created if missing")->required();
  command->add_flag("--force", options->force, "replace the results of another study there");
  command->add_flag("--quiet", options->quiet, "print nothing but errors");
  command->footer("Example: simctl merge results/shard-0 results/shard-1 -o results/all");
  command->callback([options, &code] { code = merge(*options); });
}

}  // namespace syncopate
