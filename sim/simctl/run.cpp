#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "base/descriptors.hpp"
#include "base/files.hpp"
#include "base/indexed.hpp"
#include "base/interruption.hpp"
#include "base/processes.hpp"
#include "base/progress.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "dataflow/record_file.hpp"
#include "engine/simulate.hpp"
#include "explain/explanation.hpp"
#include "output/results.hpp"
#include "run/point.hpp"
#include "run/usual_networks.hpp"
#include "simctl/commands.hpp"
#include "simctl/limits.hpp"
#include "simctl/settings.hpp"
#include "simctl/shared_points.hpp"
#include "simctl/summary.hpp"
#include "simctl/timeline_options.hpp"

namespace syncopate {

namespace {

struct RunCommandOptions {
  std::string scenario;
  SharingOptions sharing;
  std::string folder;
  int jobs = 0;
  int replicates = 0;
  SettingOptions settings;
  bool timeline = false;
  TimelineOptions timelines;
  bool dataflow = false;
  std::string recorded_points;
  std::string optimizer = "sgd";
  bool explain = false;
  std::string explained_points;
  std::string paje;
  bool no_symmetry = false;
  bool quiet = false;
  LimitOptions limits;
  std::string format;  ///< of results on stdout; empty: tables for people
};

Optimizer read_optimizer(const std::string& name) {
  return static_cast<Optimizer>(std::find(optimizer_names.begin(), optimizer_names.end(), name) - optimizer_names.begin());
}

/// Runs a study's points and stores their results.
class StudyRun {
 public:
  StudyRun(const RunCommandOptions& options, const Study& study)
      : options_(options),
        study_(study),
        timeline_points_(chosen("--timeline", options.timeline, options.timelines.points)),
        recorded_points_(chosen("--dataflow", options.dataflow, options.recorded_points)),
        explained_points_(chosen("--explain", options.explain, options.explained_points)),
        view_(options.timelines.view()),
        limits_(read_limits(options.limits)),
        simulated_(study.points.size()) {
    for (const Point* point : points_with_timeline()) check_view(view_, *point);
    check_records();
    check_paje();
    const auto lacks_file = [this](int point) {
      return (timeline_points_[place(point)] && !has_timeline(point)) || (recorded_points_[place(point)] && !has_record(point));
    };
    shared_.emplace(study, options.sharing, options.folder, !options.no_symmetry, lacks_file);
  }

  void run() {
    const auto start = std::chrono::steady_clock::now();
    plan_views();
    ProgressBar progress(shared_->in_shard(), "points", !options_.quiet);
    watch_.emplace();
    const SharedPoints::Ended before = shared_->begin();
    if (const auto& refused = shared_->refused(); !refused.empty() && !options_.quiet)
      complain("simctl: {}{}; what it held is simulated again", refused.front(),
               refused.size() == 1 ? "" : fmt::format(", as are {} more files", refused.size() - 1));
    ended_before_ = before.size();
    take(before, progress);
    simulate(shared_->waiting(), progress);
    for (const auto& [point, ended] : shared_->of_other_shards()) take(point, ended);
    std::sort(results_.rows.begin(), results_.rows.end(), [](const Row& a, const Row& b) { return a.point < b.point; });
    trace_in_simgrid();
    results_.simgrid_version = simgrid_version();
    results_.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::sort(results_.failed.begin(), results_.failed.end(), [](const auto& a, const auto& b) { return a.point < b.point; });
  }

  /// Writes and prints the results. Returns the exit code.
  ExitCode report() {
    const End end = how_it_ended();
    write(end);
    explain_points();
    watch_.reset();  // only after the results are written
    print(end);
    for (const auto& [point, error] : results_.failed) complain("simctl: {}: point {}: {}", study_.file, point, error);
    for (const std::string& error : missing_) complain("simctl: {}: {}", study_.file, error);
    warn_of_empty_timelines();
    if (end == End::cut_short) {
      complain("simctl: interrupted: {} of {} points finished{}", shared_->in_shard() - shared_->waiting().size(), shared_->in_shard(),
               !shared_->folder() || write_error_ ? "" : fmt::format("; they are in {}, where --resume goes on", options_.folder));
    }
    if (unexplained_ > 0) {
      complain("simctl: interrupted: {} missing",
               unexplained_ == 1 ? "1 explanation is" : fmt::format("{} explanations are", unexplained_));
    }
    if (write_error_) throw OutputError(*write_error_);
    if (end == End::cut_short || unexplained_ > 0 || is_untraced_) return ExitCode::interrupted;
    return results_.failed.empty() && missing_.empty() ? ExitCode::done : ExitCode::simulation_failed;
  }

 private:
  /// How many iterations a window that chooses its length has is known only now; check_view has looked at the others.
  void warn_of_empty_timelines() const {
    if (!view_.iterations) return;
    for (const Row& row : results_.rows) {
      if (!timeline_points_[place(row.point)] || !simulated_[place(row.point)] || view_.iterations->first < row.measured_iterations)
        continue;
      complain(
          "simctl: warning: {}: point {} measures iterations 0 to {}; its timeline has none of --iterations {}; choose others, or set "
          "/iterations/measured",
          study_.file, row.point, row.measured_iterations - 1, options_.timelines.iterations);
    }
  }

  enum class End {
    whole,      ///< every point of the study has ended, in this run or another
    part,       ///< every point of this run's shard has ended
    cut_short,  ///< some points of the shard have not ended
  };

  End how_it_ended() const {
    if (!shared_->waiting().empty()) return End::cut_short;
    return results_.rows.size() + results_.failed.size() == study_.points.size() ? End::whole : End::part;
  }

  /// Progress of a point that takes more than a second; else empty.
  static std::string describe(const std::optional<RunningTask>& point, const std::vector<int>& points) {
    constexpr Seconds noticeable(1.0);
    if (!point || point->time < noticeable || point->headway.all == 0) return "";
    return fmt::format("; point {}: {} of {} iterations", points[place(point->index)], point->headway.done, point->headway.all);
  }

  /// The points that an option names: all, or ranges of them.
  std::vector<bool> chosen(const char* option, bool given, const std::string& ranges) const {
    const bool all = ranges.empty() || ranges == "all";
    std::vector<bool> wanted(study_.points.size(), given && all);
    if (all) return wanted;
    const int last = static_cast<int>(study_.points.size()) - 1;
    const auto points = parse_ranges(ranges, last);
    if (!points) {
      throw UsageError(fmt::format("{} {}: expected \"all\" or ascending points from 0 to {} such as \"0-3,7\"", option, ranges, last));
    }
    for (const int point : *points) wanted[place(point)] = true;
    return wanted;
  }

  /// What each timeline shows.
  void plan_views() {
    const std::vector<const Point*> points = points_with_timeline();
    const TimelineViews planned = plan_timelines(view_, points, !options_.no_symmetry);
    if (!planned.note.empty() && !options_.quiet) complain("simctl: {}", planned.note);
    for (std::size_t i = 0; i < points.size(); ++i) views_[points[i]->index] = planned.views[i];
  }

  std::vector<const Point*> points_with_timeline() const {
    std::vector<const Point*> points;
    for (const Point& point : study_.points) {
      if (timeline_points_[place(point.index)]) points.push_back(&point);
    }
    return points;
  }

  void check_records() const {
    for (const Point& point : study_.points) {
      const bool records = recorded_points_[place(point.index)];
      if (point.scenario.jobs && (records || explained_points_[place(point.index)])) {
        throw UsageError(fmt::format("{}: point {}: there are several jobs, and this is of one; leave the point out, or \"jobs\"",
                                     records ? "--dataflow" : "--explain", point.index));
      }
      if (point.scenario.fidelity == Fidelity::simgrid && explained_points_[place(point.index)]) {
        throw UsageError(fmt::format(
            "--explain: point {}: SimGrid does not tell which link limits a message, and when; leave the point out (--explain \"0-3,7\")",
            point.index));
      }
      const Schedule& schedule = point.scenario.schedule;
      if (!recorded_points_[place(point.index)] || schedule.unrecorded.empty()) continue;
      throw UsageError(fmt::format("--dataflow: point {}: {} cannot be recorded: {}; leave the point out (--dataflow \"0-3,7\")",
                                   point.index, schedule.name, schedule.unrecorded));
    }
  }

  void check_paje() const {
    if (options_.paje.empty()) return;
    if (study_.points.size() > 1) {
      throw UsageError(
          fmt::format("--paje: it traces one point, and {} has {}; pin what it sweeps with --set", study_.file, study_.points.size()));
    }
    if (study_.points.front().scenario.fidelity != Fidelity::simgrid)
      throw UsageError(R"(--paje: SimGrid traces what it simulates; use "fidelity": "simgrid")");
    if (study_.points.front().scenario.replicates > 1 || study_.points.front().scenario.jobs)
      throw UsageError(
          "--paje: it traces one simulation, but replicates are several, and jobs are simulated together and alone; leave them out");
    require_writable(options_.paje);
  }

  /// Simulates the point once more, for the tracing: its first iterations, where its window chooses its length.
  void trace_in_simgrid() {
    if (options_.paje.empty() || results_.rows.empty()) return;
    const Descriptor file(file_in_memory("paje"));
    const PointOptions traced = {.shortcuts = !options_.no_symmetry, .paje = fmt::format("/dev/fd/{}", file.number())};
    Point point = study_.points.front();
    point.scenario.chooses_window = false;
    point.scenario.until.reset();
    const Outcome outcome = run_apart([&] { return simulate_point(point, traced).pack(); }, InterruptionWatch::interrupted);
    if (InterruptionWatch::interrupted()) {
      complain("simctl: interrupted: {} is not written", options_.paje);
      is_untraced_ = true;
    } else if (!outcome.ok) {
      missing_.push_back(fmt::format("--paje: {}", outcome.error));
    } else {
      lseek(file.number(), 0, SEEK_SET);
      try_to_write([&] { write_output(options_.paje, read_file(dup(file.number()), options_.paje)); });
    }
  }

  PointOptions point_options(int index) const {
    PointOptions point = {.shortcuts = !options_.no_symmetry, .range = shows_ranges(study_)};
    if (timeline_points_[place(index)]) point.timeline = views_.at(index);
    if (recorded_points_[place(index)]) point.dataflow = read_optimizer(options_.optimizer);
    return point;
  }

  /// Explains the finished points. A failed explanation counts as a failed point.
  void explain_points() {
    std::vector<Point> points;
    for (const Row& row : results_.rows) {
      if (!explained_points_[place(row.point)] || !shared_->is_in_shard(row.point)) continue;
      const bool is_there = has_file(explanation_name(row.point)) && !simulated_[place(row.point)];
      if (!is_there) points.push_back(as_one_run(study_.points[place(row.point)]));
    }
    ProgressBar progress(points.size(), "explanations", !options_.quiet && !points.empty());
    const auto ignore = [](std::size_t /*done*/, std::size_t /*all*/) {};
    std::size_t explained = 0;
    std::size_t failed = 0;
    for (const Point& point : points) {
      try {
        const Explained explanation = explain({&point}, options_.jobs, InterruptionWatch::interrupted, limits_).front();
        constexpr double by = 0.1;
        const auto what_if = ask_what_if(explanation, {by}, options_.jobs, ignore, InterruptionWatch::interrupted, limits_);
        const Json json = explanation_json(study_.file, explanation, what_if);
        write_into_folder(explanation_name(point.index), pretty(json));
        ++explained;
      } catch (const Interrupted&) {
        break;
      } catch (const std::runtime_error& error) {
        missing_.push_back(fmt::format("no explanation: {}", error.what()));
        ++failed;
      }
      progress.advance();
    }
    unexplained_ = points.size() - explained - failed;
  }

  /// Notes an error of writing; report() throws it after the other results are written.
  void try_to_write(const std::function<void()>& write_it) {
    try {
      write_it();
    } catch (const OutputError& error) {
      if (!write_error_) write_error_ = error.what();
    }
  }

  void write_into_folder(const std::string& name, const std::string& text) {
    try_to_write([&] { write_file(shared_->folder()->path() / name, text); });
  }

  /// Not for a shard: simctl merge writes the results.
  void write(End end) {
    if (!shared_->folder() || (end != End::whole && shared_->is_shard())) return;
    try_to_write([&] { shared_->folder()->write(results_, end == End::whole, shared_->is_shard()); });
  }

  /// Prints results for another program on stdout, notes for people on stderr.
  void print_results() const {
    if (options_.format == "csv") {
      print_data(results_csv(results_));
    } else {
      print_data(pretty(results_json(results_, study_)));
    }
    if (options_.quiet) return;
    for (const std::string& note : notes(study_, results_.rows)) complain("note: {}", note);
  }

  void print(End end) const {
    if (options_.quiet && options_.format.empty()) return;
    if (end == End::part) {
      if (options_.quiet) return;
      display(options_.format.empty() ? stdout : stderr,
              "shard {} of {}: {} of {} points are in {}; simctl merge DIR... -o OUT puts shards together\n", options_.sharing.shard,
              study_.name, results_.rows.size() + results_.failed.size(), study_.points.size(), options_.folder);
    } else if (!options_.format.empty()) {
      print_results();
    } else {
      print_study(results_, study_);
      if (ended_before_ > 0) display("{} of {} points had been simulated before\n", ended_before_, shared_->in_shard());
      if (shared_->folder() && !write_error_) print_where(options_.folder);
    }
  }

  std::string timeline_name(int point) const { return fmt::format("timeline-{}.{}", point, options_.timelines.format); }
  static std::string dataflow_name(int point) { return fmt::format("dataflow-{}.jsonl.gz", point); }
  static std::string explanation_name(int point) { return fmt::format("explanation-{}.json", point); }

  static std::size_t place(int point) { return at(point); }

  bool has_record(int point) const {
    return is_record_with(std::filesystem::path(options_.folder) / dataflow_name(point), read_optimizer(options_.optimizer));
  }

  /// Not one that was cut to its share of bytes where all of the run is asked for.
  bool has_timeline(int point) const {
    std::ifstream file(std::filesystem::path(options_.folder) / timeline_name(point));
    if (!file || options_.timelines.iterations != "all") return static_cast<bool>(file);
    std::string head;
    std::getline(file, head);  // has what is told of the timeline
    return head.find("\"left_out\":") == std::string::npos;
  }

  bool has_file(const std::string& name) const {
    std::error_code ignored;
    return std::filesystem::exists(std::filesystem::path(options_.folder) / name, ignored);
  }

  void take(const SharedPoints::Ended& all, ProgressBar& progress) {
    for (const auto& [point, ended] : all) {
      take(point, ended);
      progress.advance();
    }
  }

  void take(int point, const EndedPoint& ended) {
    if (ended.result) {
      results_.rows.push_back(make_row(study_.points[place(point)], *ended.result));
    } else {
      results_.failed.push_back({point, ended.error});
    }
  }

  void simulate(const std::vector<int>& wanted, ProgressBar& progress) {
    std::vector<const Point*> points;
    points.reserve(wanted.size());
    for (const int point : wanted) points.push_back(&study_.points[place(point)]);
    const auto point_of = [&wanted](int index) { return wanted[place(index)]; };
    const auto done = [&](int index, const Outcome& outcome) {
      keep(point_of(index), outcome);
      progress.advance();
    };
    const auto show = [&](const PointsProgress& state) { progress.show(state.left, describe(state.longest, wanted)); };
    const auto keep_it = [&](int index, PointResult& result) { keep_at_once(point_of(index), result); };
    const auto stalled = [&](const RunningTask& task) {
      complain(
          "simctl: {}: point {} has not got on for a while: process {} has stopped or waits for the system; --max-time TIME ends what "
          "hangs",
          study_.file, point_of(task.index), task.process);
    };
    const auto options = [&](int index) { return point_options(point_of(index)); };
    std::map<int, int> firsts;  // by Point::same_as: of those that leave no files, the first
    for (int index = 0; index < static_cast<int>(points.size()); ++index) {
      if (!options(index).leaves_files()) firsts.try_emplace(points[place(index)]->same_as, index);
    }
    const auto same_as = [&](int index) -> std::optional<int> {
      const auto first = firsts.find(points[place(index)]->same_as);
      return first == firsts.end() || first->second >= index || options(index).leaves_files() ? std::nullopt : std::optional(first->second);
    };
    simulate_points(points, options_.jobs, options, done, InterruptionWatch::interrupted, {show, limits_, keep_it, same_as, stalled});
  }

  /// Called in the process that simulated the point, so that processes write in parallel.
  void keep_at_once(int point, PointResult& result) const {
    if (!shared_->folder() || !result.timeline.empty() || !result.dataflow.empty())
      return;  // the timeline and the dataflow record are written first
    try {
      result = *shared_->keep(point, {.result = result}).result;
      result.is_kept = true;
    } catch (const OutputError&) {  // keep() reports it
    }
  }

  void keep(int point, const Outcome& outcome) {
    EndedPoint ended = {.result = {}, .error = outcome.error};
    if (outcome.ok) ended.result = PointResult::unpack(outcome.result);
    simulated_[place(point)] = true;
    if (ended.result && !ended.result->timeline.empty()) write_into_folder(timeline_name(point), ended.result->timeline);
    if (ended.result && !ended.result->dataflow.empty()) write_into_folder(dataflow_name(point), ended.result->dataflow);
    if (!ended.result || !ended.result->is_kept) try_to_write([&] { ended = shared_->keep(point, ended); });
    shared_->note_end(point);
    if (!outcome.ok && ended.result) {
      if (timeline_points_[place(point)] && !has_file(timeline_name(point)))
        missing_.push_back(fmt::format("no timeline: point {}: {}", point, outcome.error));
      if (recorded_points_[place(point)] && !has_record(point))
        missing_.push_back(fmt::format("no dataflow: point {}: {}", point, outcome.error));
    }
    take(point, ended);
  }

  const RunCommandOptions& options_;
  const Study& study_;
  std::optional<InterruptionWatch> watch_;
  std::vector<bool> timeline_points_;
  std::vector<bool> recorded_points_;
  std::vector<bool> explained_points_;
  TimelineView view_;
  std::map<int, TimelineView> views_;  ///< by point
  Limits limits_;
  std::vector<std::string> missing_;  ///< missing timelines, records and explanations, with the reason
  bool is_untraced_ = false;          ///< because of an interruption
  std::size_t unexplained_ = 0;       ///< because of an interruption
  Results results_;
  std::optional<std::string> write_error_;
  std::optional<SharedPoints> shared_;
  std::size_t ended_before_ = 0;
  std::vector<bool> simulated_;  ///< in this run
};

ExitCode run(RunCommandOptions options) {
  check_sharing(options.sharing, options.folder);
  if (options.folder == "-") {
    options.folder.clear();
    if (options.format.empty()) options.format = "csv";
  }
  if ((options.timeline || options.dataflow || options.explain) && options.folder.empty()) {
    const char* const option = options.timeline ? "--timeline" : options.dataflow ? "--dataflow" : "--explain";
    throw UsageError(fmt::format("{} writes files; say where with -o DIR", option));
  }
  std::vector<Setting> settings = read_settings(options.settings, options.scenario);
  if (options.replicates > 0) settings.push_back({"/replicates", options.replicates, "--replicates"});
  const Study study = read_study(options.scenario, settings, !options.folder.empty());
  StudyRun study_run(options, study);
  study_run.run();
  return study_run.report();
}

}  // namespace

void add_run_command(CLI::App& app, ExitCode& code) {
  const auto options = std::make_shared<RunCommandOptions>();
  CLI::App* command = app.add_subcommand("run", "Simulate every point of a scenario and report iteration times and scalability");
  command->add_option("SCENARIO", options->scenario, "scenario/1 file, or a name that \"simctl list scenarios\" shows; - is stdin")
      ->required();
  command->add_option("-o,--output", options->folder, "folder for results.csv, results.json and timelines, made when missing; - is stdout")
      ->check(
          [](const std::string& folder) { return folder.empty() ? std::string("the name of a folder must not be empty") : std::string(); });
  command->add_option("-j,--jobs", options->jobs, "points that run at the same time (default: one per core)")->check(CLI::Range(1, 1024));
  add_setting_options(*command, options->settings);
  command->add_option("--replicates", options->replicates, "simulate every point with so many seeds, for means with their intervals")
      ->check(CLI::Range(1, most_replicates));
  CLI::Option* timeline = add_timeline_options(*command, options->timelines);
  CLI::Option* explain =
      command->add_option("--explain", options->explained_points,
                          "write DIR/explanation-<point>.json, what simctl explain says: of all points, or of these (\"0-3,7\")");
  explain->expected(0, 1);
  CLI::Option* dataflow =
      command->add_option("--dataflow", options->recorded_points,
                          "write DIR/dataflow-<point>.jsonl.gz, which gradient entered which model: of all points, or of "
                          "these (\"0-3,7\")");
  dataflow->expected(0, 1);
  command->add_option("--optimizer", options->optimizer, "what applies gradients in it (default: sgd)")
      ->check(CLI::IsMember(std::vector<std::string>(optimizer_names.begin(), optimizer_names.end())))
      ->needs(dataflow);
  command
      ->add_option("--paje", options->paje, "write what SimGrid traces to this file, for viewers of Paje: of one point in fidelity simgrid")
      ->excludes("--output");
  command->add_flag(
      "--no-symmetry", options->no_symmetry,
      "simulate every worker and every step in full; the results are the same up to rounding, which servers over regions may amplify");
  add_limit_options(*command, options->limits, "a point");
  command->add_option("--format", options->format, "print the results as csv or json instead of tables for people")
      ->check(CLI::IsMember({"csv", "json"}));
  command->add_flag("--quiet", options->quiet, "print nothing but errors");
  add_sharing_options(*command, options->sharing);
  command->footer("Example: simctl run scalability -o results --nodes 64 --schedule wfbp,mg-wfbp");
  command->callback([options, timeline, dataflow, explain, &code] {
    options->timeline = timeline->count() > 0;
    options->dataflow = dataflow->count() > 0;
    options->explain = explain->count() > 0;
    code = run(*options);
  });
}

}  // namespace syncopate
