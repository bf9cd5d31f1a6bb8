#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/digest.hpp"
#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/files.hpp"
#include "base/indexed.hpp"
#include "base/interruption.hpp"
#include "base/processes.hpp"
#include "base/table.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "run/point.hpp"
#include "run/run_plan.hpp"
#include "run/setup.hpp"
#include "schedule/grouping.hpp"
#include "schedule/schedules.hpp"
#include "simctl/checked_output.hpp"
#include "simctl/commands.hpp"
#include "simctl/limits.hpp"
#include "simctl/settings.hpp"
#include "simctl/summary.hpp"
#include "store/run_folder.hpp"

namespace syncopate {

namespace {

namespace fs = std::filesystem;

constexpr double mebibyte = 1 << 20;

struct ApplyOptions {
  std::string scenario;
  std::optional<std::string> point;
  std::string out;
  bool force = false;
  int jobs = 0;
  SettingOptions settings;
  LimitOptions limits;
};

/// How to run schedules that do not all-reduce groups of gradients.
struct OtherWay {
  std::string_view schedule;
  std::string_view way;
};
constexpr std::array other_ways = {
    OtherWay{"local-sgd", "PyTorch's PeriodicModelAverager(period=interval), or post_localSGD_hook"},
    OtherWay{"diloco", "torchft's DiLoCo(sync_every=interval, fragment_sync_delay=overlap)"},
    OtherWay{"fsdp", "PyTorch's FullyShardedDataParallel, with an auto_wrap_policy of the units and the sharding strategy of the stage"},
    OtherWay{"zero", "DeepSpeed, with zero_optimization.stage"},
    OtherWay{"bytescheduler", "BytePS, with BYTEPS_PARTITION_BYTES and BYTEPS_SCHEDULING_CREDIT"},
};

/// A few sizes from the least that holds a gradient to that of all of them.
std::vector<Bytes> bucket_sizes(const StepProfile& profile) {
  constexpr int count = 64;
  constexpr double step = mebibyte / 64;  // which a decimal number of mebibytes says exactly
  Bytes least = profile.bytes();
  for (const auto& gradient : profile.gradients) least = std::min(least, gradient.bytes);
  std::vector<Bytes> sizes;
  for (int i = 0; i <= count; ++i)
    sizes.emplace_back(step * std::ceil(least.value * std::pow(profile.bytes() / least, static_cast<double>(i) / count) / step));
  sizes.push_back(Fusion().bucket);
  return sizes;
}

/// Sizes of a first bucket: those that end it with another gradient.
std::vector<Bytes> first_sizes(const StepProfile& profile) {
  constexpr std::size_t most = 64;
  std::vector<Bytes> sizes;
  Bytes filled;
  for (const auto& gradient : profile.gradients) sizes.push_back(filled += gradient.bytes);
  const std::size_t step = (sizes.size() + most - 1) / most;
  std::vector<Bytes> chosen = {Fusion().first_bucket};
  for (std::size_t i = 0; i < sizes.size(); i += step) chosen.push_back(sizes[i]);
  return chosen;
}

/// The sizes of DDP's buckets whose communication ends first, by closed forms. `same`: the first bucket has the others' size.
Fusion best_sizes(const StepProfile& profile, const CostCurve& cost, bool same) {
  Fusion best;
  Seconds least(std::numeric_limits<double>::infinity());
  for (const Bytes bucket : bucket_sizes(profile)) {
    for (const Bytes first : same ? std::vector{bucket} : first_sizes(profile)) {
      const Fusion sizes = {first, bucket};
      const Seconds end = communication_end(sizes(profile, cost), profile, cost);
      if (end >= least) continue;
      least = end;
      best = sizes;
    }
  }
  return best;
}

/// What is found out in a process of its own, as simulations are.
Json find_groups(const Scenario& scenario) {
  Setup setup(scenario, {});
  const Fidelity fidelity = plan_of(setup).fidelity;
  const Grouping grouping = setup.grouping(fidelity);
  const CostCurve cost = setup.group_cost(fidelity);
  const Fusion one = best_sizes(setup.profile(), cost, true);
  const Fusion two = best_sizes(setup.profile(), cost, false);
  return {{"groups", describe(grouping, setup.profile())}, {"one", one.bucket.value}, {"two", {two.first_bucket.value, two.bucket.value}}};
}

class Application {
 public:
  explicit Application(const ApplyOptions& options) : options_(options), limits_(read_limits(options.limits)) {
    if (!options.out.empty()) {
      check_output(options.out, {});
      require_new("-o ", options.out, options.force);
    }
    std::error_code ignored;
    if (fs::is_directory(options.scenario, ignored)) {
      if (!words_of(options.settings).empty())
        throw UsageError(fmt::format("{}: a run has been made as it is; give its scenario to change it", options.scenario));
      study_ = read_study_of(options.scenario).study;
    } else {
      study_ = read_study(options.scenario, read_settings(options.settings, options.scenario));
    }
    point_ = &chosen_point(study_, options.scenario, "--point", options.point);
  }

  void apply() {
    const Scenario& scenario = point_->scenario;
    if (!scenario.schedule.groups || scenario.cluster.workers() == 1) refuse();
    const InterruptionWatch watch;
    read_groups();
    simulate();
    const std::string text = plan().dump(1) + "\n";
    if (!options_.out.empty()) write_output(options_.out, text);
    print();
  }

 private:
  [[noreturn]] void refuse() const {
    const Scenario& scenario = point_->scenario;
    std::string why = fmt::format(
        "{} has no groups of gradients, and no library of PyTorch runs it as it is; use one of \"simctl list schedules\" that has", name());
    const auto way = std::find_if(other_ways.begin(), other_ways.end(), [&](const OtherWay& row) { return row.schedule == name(); });
    if (way != other_ways.end()) why = fmt::format("{} has no groups of gradients; run it by {}", name(), way->way);
    if (scenario.cluster.workers() == 1) why = "one worker has nobody to communicate with; choose a point with more nodes";
    if (scenario.jobs) why = "it has several jobs; give the scenario of one";
    throw InputError(fmt::format("{}: point {}: {}", study_.file, point_->index, why));
  }

  const std::string& name() const { return point_->scenario.schedule.name; }

  void read_groups() {
    const Outcome outcome = run_apart([&] { return find_groups(point_->scenario).dump(); }, InterruptionWatch::interrupted);
    if (InterruptionWatch::interrupted()) throw Interrupted();
    if (!outcome.ok) throw Error(outcome.code, fmt::format("{}: point {}: {}", study_.file, point_->index, outcome.error));
    const Json found = Json::parse(outcome.result);
    groups_ = found["groups"];
    one_size_ = {Bytes(found["one"].get<double>()), Bytes(found["one"].get<double>())};
    two_sizes_ = {Bytes(found["two"][0].get<double>()), Bytes(found["two"][1].get<double>())};
  }

  /// The point with DDP's buckets.
  Point with(const Fusion& sizes) const {
    Point point = *point_;
    point.scenario.schedule = point_->scenario.schedule.regrouped(sizes);
    point.scenario.schedule.name = "fusion";
    return point;
  }

  void simulate() {
    const std::vector<Point> all = {*point_, with(Fusion()), with(one_size_), with(two_sizes_)};
    std::vector<const Point*> points;
    for (const Point& point : all) points.push_back(&point);
    std::vector<Seconds> found(points.size());
    std::string error;
    simulate_points(
        points, options_.jobs, [](int /*index*/) { return PointOptions(); },
        [&](int i, const Outcome& outcome) {
          if (outcome.ok) {
            found[at(i)] = PointResult::unpack(outcome.result).metrics.iteration;
          } else if (error.empty()) {
            error = outcome.error;
          }
        },
        InterruptionWatch::interrupted, {.limits = limits_});
    if (InterruptionWatch::interrupted()) throw Interrupted();
    if (!error.empty()) throw Error(ExitCode::simulation_failed, fmt::format("{}: point {}: {}", study_.file, point_->index, error));
    predicted_ = found[0];
    by_default_ = found[1];
    by_one_size_ = found[2];
    by_two_sizes_ = found[3];
  }

  /// At most 1% longer than the plan.
  bool is_enough(Seconds iteration) const {
    constexpr double almost = 1.01;
    return iteration <= almost * predicted_;
  }

  Json plan() const {
    Json caps = Json::array();
    for (const Json& group : groups_) caps.push_back(group["bytes"].get<double>() / mebibyte);
    std::string lines;
    for (const Gradient& gradient : point_->scenario.trace->gradients)
      lines += fmt::format("{} {:.0f}\n", gradient.name, gradient.bytes.value);
    Json ddp = {{"bucket_cap_mb_list", caps}};
    if (is_enough(by_one_size_))
      ddp["one_size"] = {{"bucket_cap_mb", one_size_.bucket.value / mebibyte}, {"predicted_iteration_s", by_one_size_.value}};
    if (is_enough(by_two_sizes_)) {
      ddp["two_sizes"] = {{"bucket_cap_mb", two_sizes_.bucket.value / mebibyte},
                          {"first_bucket_bytes", std::llround(two_sizes_.first_bucket.value)},
                          {"predicted_iteration_s", by_two_sizes_.value}};
    }
    return {{"format", "plan/1"},
            {"schedule", name()},
            {"scenario", study_.name},
            {"point", point_->index},
            {"workers", point_->scenario.cluster.workers()},
            {"trace_digest", sha256(lines)},
            {"predicted_iteration_s", predicted_.value},
            {"predicted_ddp_s", by_default_.value},
            {"ddp", ddp},
            {"groups", groups_}};
  }

  void print() const {
    const Scenario& scenario = point_->scenario;
    std::FILE* const stream = stdout;
    display(stream, "{} on {} x {}: {} per iteration predicted, {:.3f} times as fast as DDP's default buckets ({}); {} group{}\n\n", name(),
            scenario.cluster.nodes, scenario.cluster.name, format_seconds(predicted_), by_default_ / predicted_,
            format_seconds(by_default_), groups_.size(), groups_.size() == 1 ? "" : "s");
    std::vector<Cells> table = {{"group", "gradients", "bytes", "first", "last"}};
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const auto names = groups_[i]["parameters"].get<std::vector<std::string>>();
      table.push_back(
          {std::to_string(i), std::to_string(names.size()), Bytes(groups_[i]["bytes"].get<double>()), names.front(), names.back()});
    }
    constexpr std::size_t most_rows = 13;
    if (table.size() > most_rows) table.resize(most_rows);
    display(stream, "{}", format_table(table));
    if (groups_.size() + 1 > most_rows) display(stream, "... {} more\n", groups_.size() + 1 - most_rows);
    display(stream, "\nhow to run it, the cheapest first:\n");
    auto say = [&, number = 0](const std::string& text) mutable { display(stream, "{}. {}\n", ++number, text); };
    if (is_enough(by_default_)) say("change nothing: DDP's default buckets are within 1% of it");
    if (name() == "horovod")
      say("Horovod: HOROVOD_FUSION_THRESHOLD in bytes and HOROVOD_CYCLE_TIME in milliseconds, as the schedule's parameters say");
    if (is_enough(by_one_size_)) {
      say(fmt::format(
          "DistributedDataParallel(model, bucket_cap_mb={:.10g}), where that sizes the first bucket, too, as in new PyTorch: {}",
          one_size_.bucket.value / mebibyte, format_seconds(by_one_size_)));
    }
    if (is_enough(by_two_sizes_)) {
      say(fmt::format(
          "DistributedDataParallel(model, bucket_cap_mb={:.10g}) after torch.distributed._DEFAULT_FIRST_BUCKET_BYTES = {:.0f}, in "
          "older PyTorch: {}",
          two_sizes_.bucket.value / mebibyte, two_sizes_.first_bucket.value, format_seconds(by_two_sizes_)));
    }
    const std::string file = options_.out.empty() ? "PLAN" : options_.out;
    say(fmt::format("where DistributedDataParallel takes bucket_cap_mb_list: /ddp/bucket_cap_mb_list of {}", file));
    say(fmt::format("any PyTorch: syncopate.torch.MergedGradients(model, \"{}\")", file));
    if (scenario.schedule.pace.steps_per_update > 1)
      display(stream, "steps whose gradients only add up: model.no_sync(), {} of {}\n", scenario.schedule.pace.steps_per_update - 1,
              scenario.schedule.pace.steps_per_update);
    if (scenario.schedule.pace.is_lossy)
      display(stream, "compression: a communication hook of DDP, where there is one for it (fp16_compress_hook, powerSGD_hook)\n");
    if (options_.out.empty()) display(stream, "write the plan with -o FILE\n");
  }

  const ApplyOptions& options_;
  Limits limits_;
  Study study_;
  const Point* point_ = nullptr;
  Json groups_;
  Fusion one_size_{};
  Fusion two_sizes_{};
  Seconds predicted_;
  Seconds by_default_;
  Seconds by_one_size_;
  Seconds by_two_sizes_;
};

}  // namespace

void add_apply_command(CLI::App& app) {
  const auto options = std::make_shared<ApplyOptions>();
  CLI::App* command = app.add_subcommand("apply", "Say how to run a point's schedule in a real job, and write its groups of gradients");
  command->add_option("SCENARIO", options->scenario, "scenario/1 file or its name, - is stdin; or the folder of a run")->required();
  command->add_option("--point", options->point, "which point of its sweep");
  command->add_option("-o", options->out, "plan/1 file to write: the groups, by parameter name");
  command->add_flag("--force", options->force, "overwrite the file");
  command->add_option("-j,--jobs", options->jobs, "simulations at the same time (default: one per core)")->check(CLI::Range(1, 1024));
  add_setting_options(*command, options->settings);
  add_limit_options(*command, options->limits, "a simulation");
  command->footer("Example: simctl apply quickstart --schedule mg-wfbp -o results/plan.json");
  command->callback([options] { Application(*options).apply(); });
}

}  // namespace syncopate
