#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "advise/calibration.hpp"
#include "base/errors.hpp"
#include "base/files.hpp"
#include "base/indexed.hpp"
#include "base/interruption.hpp"
#include "base/processes.hpp"
#include "base/project_files.hpp"
#include "base/table.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "run/point.hpp"
#include "simctl/checked_output.hpp"
#include "simctl/commands.hpp"
#include "simctl/limits.hpp"
#include "simctl/settings.hpp"

namespace syncopate {

namespace {

namespace fs = std::filesystem;

constexpr int most_gpus = 1 << 20;

struct CalibrateOptions {
  std::string scenario;
  std::string measured;
  std::string unit = "samples/s";
  std::string sizes;
  std::string out;
  bool force = false;
  SettingOptions settings;
  int jobs = 0;
  LimitOptions limits;
  std::string format = "text";

  bool as_json() const { return format == "json"; }
};

/// A number above 0.
std::optional<double> positive(const std::string& text) {
  const auto number = to_number(text);
  return number && std::isfinite(*number) && *number > 0.0 ? number : std::nullopt;
}

std::optional<int> gpus_of(const std::string& text) {
  const auto number = positive(text);
  if (!number || *number > most_gpus || *number != std::floor(*number)) return std::nullopt;
  return static_cast<int>(*number);
}

/// What was measured, by number of GPUs.
std::map<int, double> read_measured(const std::string& text) {
  std::map<int, double> measured;
  for (const std::string& item : split_at_commas(text)) {
    const std::size_t colon = item.find(':');
    const auto gpus = colon == std::string::npos ? std::nullopt : gpus_of(item.substr(0, colon));
    const auto value = colon == std::string::npos ? std::nullopt : positive(item.substr(colon + 1));
    if (!gpus || !value) {
      throw UsageError(
          fmt::format("--measured {}: expected GPUS:VALUE with a whole number of GPUs and a value above 0, such as 1:384.9,8:2969", item));
    }
    if (const auto [known, is_new] = measured.emplace(*gpus, *value); !is_new && known->second != *value)
      throw UsageError(fmt::format("--measured: {} and {} for {} GPUs contradict each other; give one of them, or their mean",
                                   known->second, *value, *gpus));
  }
  return measured;
}

class Calibration {
 public:
  explicit Calibration(const CalibrateOptions& options)
      : options_(options), limits_(read_limits(options.limits)), measured_(read_measured(options.measured)) {
    if (!options.out.empty()) {
      check_output(options.out, {});
      require_new("-o ", options.out, options.force);
    }
    settings_ = read_settings(options.settings, options.scenario);
    const Study study = read_study(options.scenario, settings_);
    for (const Point& point : study.points) {
      for (std::size_t i = 0; i < point.sweep.size(); ++i) {
        const auto& [pointer, value] = point.sweep[i];
        if (pointer != "/cluster/nodes" && value != study.points.front().sweep[i].second)
          throw UsageError(fmt::format("the scenario sweeps {}; pin it with --set to what was run", pointer));
      }
    }
    scenario_ = std::make_unique<Scenario>(study.points.front().scenario);
    if (scenario_->jobs) throw UsageError("the scenario has several jobs; calibrate one that runs alone");
    read_sizes(study);
    check_units();
  }

  ExitCode calibrate() {
    const InterruptionWatch watch;
    scale_compute();
    const std::vector<int> sizes = sizes_of_table();
    before_ = simulate_sizes(sizes, settings_);
    if (!runs_.empty()) {
      fits_ = fit_causes(causes_of(*scenario_, runs_), runs_, others_, scaled_settings(),
                         [this](const auto& questions) { return simulate(questions); });
      constexpr double contradiction = 0.2;
      if (fits_.empty() || fits_.front().off > contradiction) fail_to_explain();
      alike_ = count_alike(fits_);
    } else {
      scaled_ = simulate_sizes(sizes, scaled_settings());
    }
    const std::optional<std::string> scenario = options_.out.empty() ? std::nullopt : std::optional(calibrated_scenario());
    // What -o - would print is a key of the JSON.
    const bool writes = scenario && !(options_.as_json() && options_.out == "-");
    if (options_.as_json()) {
      if (writes) write_output(options_.out, *scenario);
      print_data(pretty(calibration_json(sizes, scenario)));
      return ExitCode::done;
    }
    print(sizes);
    if (writes) {
      write_output(options_.out, *scenario);
      display("{}: the calibrated scenario; run it: {}\n", options_.out, command_line({own_command(), "run", options_.out}));
    }
    return ExitCode::done;
  }

 private:
  void read_sizes(const Study& study) {
    const int gpus = scenario_->cluster.gpus_per_node;
    if (!options_.sizes.empty()) {
      for (const std::string& item : split_at_commas(options_.sizes)) {
        const auto size = gpus_of(item);
        if (!size) throw UsageError(fmt::format("--sizes {}: expected numbers of GPUs such as 16,32", item));
        others_.push_back(*size);
      }
    } else {
      std::set<int> swept;
      for (const Point& point : study.points) swept.insert(point.scenario.cluster.workers());
      others_.assign(swept.begin(), swept.end());
    }
    for (const auto& [size, value] : measured_) require_nodes("--measured", size, gpus);
    for (const int size : others_) require_nodes("--sizes", size, gpus);
  }

  static void require_nodes(const char* option, int size, int gpus) {
    if (size <= gpus || size % gpus == 0) return;
    throw UsageError(fmt::format("{}: {} GPUs are not whole nodes of {}; give a multiple, or at most {}", option, size, gpus, gpus));
  }

  Seconds iteration_of(int gpus, double value) const {
    return options_.unit == "s" ? Seconds(value) : Seconds(gpus * static_cast<double>(scenario_->trace->batch) / value);
  }

  double throughput(int gpus, Seconds iteration) const { return gpus * static_cast<double>(scenario_->trace->batch) / iteration.value; }

  /// Seconds of one GPU's iteration by the trace.
  Seconds compute() const {
    const StepProfile profile = step_profile(*scenario_->trace, scenario_->granularity);
    return profile.compute();
  }

  void check_units() const {
    constexpr double doubtful = 20.0;
    const auto& [gpus, value] = *measured_.begin();
    const Seconds iteration = iteration_of(gpus, value);
    const double ratio = std::max(iteration / compute(), compute() / iteration);
    if (gpus == 1 && ratio > doubtful) {
      throw UsageError(fmt::format(
          "--measured {}:{}: in {} one GPU would take {} per iteration, and {} by the trace (batch {}); is --unit {} right?", gpus, value,
          options_.unit, format_seconds(iteration), format_seconds(compute()), scenario_->trace->batch, options_.unit));
    }
  }

  /// One GPU's run says how fast the trace's layers are. The others may not be faster.
  void scale_compute() {
    for (const auto& [gpus, value] : measured_) {
      if (gpus > 1) runs_[gpus] = iteration_of(gpus, value);
    }
    const auto one = measured_.find(1);
    if (one != measured_.end()) factor_ = iteration_of(1, one->second) / compute();
    const Seconds least = factor_.value_or(1.0) * compute();
    for (const auto& [gpus, iteration] : runs_) {
      if (iteration >= (1.0 - noise_of_runs) * least) continue;
      throw UsageError(
          fmt::format("--measured {}:{}: that is {} per iteration, less than the {} that one GPU computes{}; check the batch (the trace's "
                      "is {}) and the unit",
                      gpus, measured_.at(gpus), format_seconds(iteration), format_seconds(least), factor_ ? "" : " by the trace",
                      scenario_->trace->batch));
    }
  }

  std::vector<Setting> scaled_settings() const {
    std::vector<Setting> settings = settings_;
    if (factor_) settings.push_back({"/trace_factor", *factor_ * scenario_->trace_factor, "calibrate"});
    return settings;
  }

  std::vector<int> sizes_of_table() const {
    std::set<int> sizes(others_.begin(), others_.end());
    for (const auto& [gpus, value] : measured_) sizes.insert(gpus);
    sizes.erase(1);
    return {sizes.begin(), sizes.end()};
  }

  std::map<int, Seconds> simulate_sizes(const std::vector<int>& sizes, const std::vector<Setting>& settings) const {
    std::vector<Question> questions;
    for (const int gpus : sizes) questions.push_back({gpus, settings});
    const std::vector<Seconds> answers = simulate(questions);
    std::map<int, Seconds> found;
    for (std::size_t i = 0; i < sizes.size(); ++i) found[sizes[i]] = answers[i];
    return found;
  }

  std::vector<Seconds> simulate(const std::vector<Question>& questions) const {
    std::vector<Study> studies;
    for (const Question& question : questions) {
      std::vector<Setting> settings = question.settings;
      const int gpus = scenario_->cluster.gpus_per_node;
      if (question.gpus < gpus) settings.push_back({"/cluster/gpus_per_node", question.gpus, "calibrate"});
      settings.push_back({"/cluster/nodes", std::max(1, question.gpus / gpus), "calibrate"});
      try {
        studies.push_back(read_study(options_.scenario, settings));
      } catch (const InputError& error) {
        throw InputError(fmt::format("on {} GPUs: {}", question.gpus, error.what()));
      }
    }
    std::vector<const Point*> points;
    for (const Study& study : studies) points.push_back(&study.points.front());
    std::vector<Seconds> iterations(points.size());
    std::string error;
    simulate_points(
        points, options_.jobs, [](int /*index*/) { return PointOptions(); },
        [&](int i, const Outcome& outcome) {
          if (outcome.ok) {
            iterations[at(i)] = PointResult::unpack(outcome.result).metrics.iteration;
          } else if (error.empty()) {
            error = fmt::format("{} GPUs: {}", questions[at(i)].gpus, outcome.error);
          }
        },
        InterruptionWatch::interrupted, {.limits = limits_});
    if (InterruptionWatch::interrupted()) throw Interrupted();
    if (!error.empty()) throw SimulationError(error);
    return iterations;
  }

  [[noreturn]] void fail_to_explain() const {
    std::vector<std::string> runs;
    for (const auto& [gpus, iteration] : runs_)
      runs.push_back(fmt::format("{} GPUs: {} measured, {} simulated", gpus, format_seconds(iteration), format_seconds(before_.at(gpus))));
    throw SimulationError(
        fmt::format("no cause by itself explains the runs ({}); check that batch, schedule, cluster and unit are those of the runs",
                    fmt::join(runs, "; ")));
  }

  const Fitted& chosen() const {
    return middle(fits_, alike_, others_.empty() ? runs_.rbegin()->first : *std::max_element(others_.begin(), others_.end()));
  }

  /// Samples per second of all GPUs on so many of them.
  struct Prediction {
    int gpus = 0;
    std::optional<double> measured{};
    double scenario = 0.0;
    double calibrated = 0.0;
    std::optional<std::pair<double, double>> range{};  ///< of the causes that cannot be told apart
  };

  std::vector<Prediction> predictions(const std::vector<int>& sizes) const {
    std::vector<Prediction> found;
    for (const int gpus : sizes) {
      const auto rate = [&](Seconds iteration) { return throughput(gpus, iteration); };
      const auto measured = runs_.find(gpus);
      Prediction one = {.gpus = gpus,
                        .scenario = rate(before_.at(gpus)),
                        .calibrated = rate(fits_.empty() ? scaled_.at(gpus) : chosen().iterations.at(gpus))};
      if (measured != runs_.end()) one.measured = rate(measured->second);
      if (alike_ > 1) {
        const auto less = [&](const Fitted& a, const Fitted& b) { return a.iterations.at(gpus) < b.iterations.at(gpus); };
        const auto [first, last] = std::minmax_element(fits_.begin(), fits_.begin() + static_cast<std::ptrdiff_t>(alike_), less);
        one.range = {rate(last->iterations.at(gpus)), rate(first->iterations.at(gpus))};
      }
      found.push_back(one);
    }
    return found;
  }

  /// What one GPU's run says. Empty without one.
  std::string sentence_of_factor() const {
    if (!factor_) return "";
    return fmt::format("one GPU: {} per iteration, {} by the trace, so /trace_factor is {}",
                       format_seconds(iteration_of(1, measured_.at(1))), format_seconds(compute()),
                       rounded(*factor_ * scenario_->trace_factor, 4));
  }

  /// What the causes say.
  std::vector<std::string> sentences() const {
    if (fits_.empty()) return {"A run on several GPUs would show what else the scenario lacks."};
    std::vector<std::string> found;
    constexpr double poor = 0.05;
    if (fits_.front().off > poor) {
      found.push_back(
          fmt::format("The runs contradict each other as far as one cause explains them: the best leaves {}.", percent(fits_.front().off)));
    }
    found.push_back(fmt::format("Chosen: {}.", chosen().cause.name));
    if (alike_ > 1) {
      found.back() += fmt::format(
          " The runs do not tell the first {} apart; the range is that of all of them. A run on more GPUs would tell them apart.", alike_);
    }
    return found;
  }

  void print(const std::vector<int>& sizes) const {
    if (factor_) display("{}\n", sentence_of_factor());
    std::vector<Cells> table = {{"GPUs", "measured", "scenario", "calibrated", "range"}};
    const auto shown = [](double rate) { return rounded(rate, 4); };
    for (const Prediction& one : predictions(sizes)) {
      table.push_back({fmt::format("{}", one.gpus), one.measured ? shown(*one.measured) : "", shown(one.scenario), shown(one.calibrated),
                       one.range ? fmt::format("{} to {}", shown(one.range->first), shown(one.range->second)) : ""});
    }
    display("\nsamples per second of all GPUs\n{}\n", format_table(table));
    if (!fits_.empty()) {
      table = {{"cause", "key", "value", "off by"}};
      for (const Fitted& fit : fits_)
        table.push_back({std::string(fit.cause.name), fit.cause.pointer, fit.cause.value(fit.amount).dump(), percent(fit.off)});
      display("{}\n", format_table(table));
    }
    for (const std::string& sentence : sentences()) display("{}\n", sentence);
  }

  Json calibration_json(const std::vector<int>& sizes, const std::optional<std::string>& scenario) const {
    Json json = {{"format", "calibrate/1"},      {"scenario", options_.scenario}, {"one_gpu", nullptr},
                 {"predictions", Json::array()}, {"causes", Json::array()},       {"chosen", nullptr},
                 {"notes", sentences()},         {"calibrated", nullptr}};
    if (factor_) {
      json["one_gpu"] = {{"measured_s", iteration_of(1, measured_.at(1)).value},
                         {"trace_s", compute().value},
                         {"trace_factor", *factor_ * scenario_->trace_factor}};
      json["notes"].insert(json["notes"].begin(), sentence_of_factor());
    }
    for (const Prediction& one : predictions(sizes)) {
      json["predictions"].push_back({{"gpus", one.gpus},
                                     {"measured", one.measured ? Json(*one.measured) : Json()},
                                     {"scenario", one.scenario},
                                     {"calibrated", one.calibrated},
                                     {"low", one.range ? Json(one.range->first) : Json()},
                                     {"high", one.range ? Json(one.range->second) : Json()}});
    }
    for (std::size_t i = 0; i < fits_.size(); ++i) {
      json["causes"].push_back({{"cause", fits_[i].cause.name},
                                {"key", fits_[i].cause.pointer},
                                {"value", fits_[i].cause.value(fits_[i].amount)},
                                {"off", fits_[i].off},
                                {"as_good", i < alike_}});
    }
    if (!fits_.empty()) json["chosen"] = chosen().cause.name;
    if (scenario) json["calibrated"] = options_.out == "-" ? parse_json(*scenario, "-") : Json(options_.out);
    return json;
  }

  /// The scenario with what was found. Names of files stay valid from the new place.
  std::string calibrated_scenario() const {
    std::vector<Setting> settings = scaled_settings();
    if (!fits_.empty()) settings = with_cause(settings, chosen().cause, chosen().amount);
    Json json = read_study(options_.scenario, settings).document;
    Json& about = json["x-calibrated"];
    about = {{"command", "simctl calibrate"}, {"measured", options_.measured}, {"unit", options_.unit}};
    if (!fits_.empty()) about["cause"] = chosen().cause.name;
    for (std::size_t i = 0; i < alike_; ++i) {
      about["as_good"].push_back(
          {{"cause", fits_[i].cause.name}, {"key", fits_[i].cause.pointer}, {"value", fits_[i].cause.value(fits_[i].amount)}});
    }
    json.erase("$schema");
    const std::array named = {std::pair("trace", FileKind::trace), std::pair("cluster", FileKind::cluster)};
    for (const auto& [key, kind] : named) {
      if (json.contains(key)) rename_file(json[key], kind);
      const JsonPointer swept = JsonPointer("/sweep") / fmt::format("/{}", key);
      if (!json.contains(swept) || !json.at(swept).is_array()) continue;
      for (Json& value : json.at(swept)) rename_file(value, kind);
    }
    if (json.contains("/workers/traces"_json_pointer)) {
      for (Json& own : json["workers"]["traces"]) rename_file(own["trace"], FileKind::trace);
    }
    std::string text = pretty(json);
    require_valid(text);
    return text;
  }

  /// Names a file as seen from the folder of the new scenario.
  void rename_file(Json& name, FileKind kind) const {
    if (!name.is_string()) return;
    const fs::path from = fs::path(options_.scenario == "-" ? "" : named_file(options_.scenario, {FileKind::scenario})).parent_path();
    name = fs::proximate(named_file(name.get<std::string>(), {kind}, from), new_folder()).string();
  }

  fs::path new_folder() const {
    const fs::path folder = fs::path(options_.out).parent_path();
    return folder.empty() ? fs::current_path() : folder;
  }

  /// Reads the scenario as a file beside the one that it will be.
  void require_valid(const std::string& text) const {
    const std::string trial = (new_folder() / fmt::format(".{}.{}", fs::path(options_.out).filename().string(), getpid())).string();
    write_output(trial, text);
    std::string error;
    try {
      read_study(trial);
    } catch (const InputError& wrong) {
      error = wrong.what();
    }
    std::error_code ignored;
    fs::remove(trial, ignored);
    if (!error.empty()) throw InputError(fmt::format("{} does not give a valid scenario: {}", options_.scenario, error));
  }

  const CalibrateOptions& options_;
  Limits limits_;
  std::map<int, double> measured_;
  std::vector<Setting> settings_;
  std::unique_ptr<Scenario> scenario_;
  std::vector<int> others_;       ///< numbers of GPUs to predict
  std::optional<double> factor_;  ///< on the trace's times
  MeasuredRuns runs_;             ///< on several GPUs
  std::map<int, Seconds> before_;
  std::map<int, Seconds> scaled_;  ///< without runs on several GPUs
  std::vector<Fitted> fits_;
  std::size_t alike_ = 0;
};

}  // namespace

void add_calibrate_command(CLI::App& app, ExitCode& code) {
  const auto options = std::make_shared<CalibrateOptions>();
  CLI::App* command = app.add_subcommand("calibrate", "Fit a scenario to runs of your own, and predict other numbers of GPUs");
  command
      ->add_option("SCENARIO", options->scenario,
                   "scenario/1 file or its name, - is stdin; what it sweeps but for nodes is pinned with --set")
      ->required();
  command->add_option("--measured", options->measured, "GPUS:VALUE,...: what runs on so many GPUs took, such as 1:384.9,8:2969")
      ->required();
  command->add_option("--unit", options->unit, "of the values: samples/s, of all GPUs together, or s, per iteration")
      ->check(CLI::IsMember({"samples/s", "s"}))
      ->capture_default_str();
  command->add_option("--sizes", options->sizes, "numbers of GPUs to predict, such as 16,32 (default: what the scenario sweeps)");
  command->add_option("-o", options->out, "write the calibrated scenario into that file");
  command->add_flag("--force", options->force, "overwrite the file");
  command->add_option("-j,--jobs", options->jobs, "points that run at the same time (default: one per core)")->check(CLI::Range(1, 1024));
  add_setting_options(*command, options->settings);
  add_limit_options(*command, options->limits, "a point");
  add_json_option(*command, options->format);
  command->footer("Example: simctl calibrate quickstart --schedule fusion --measured 1:800,8:4700 --sizes 16,32");
  command->callback([options, &code] { code = Calibration(*options).calibrate(); });
}

}  // namespace syncopate
