#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/errors.hpp"
#include "base/memory.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "run/cost.hpp"
#include "run/limits.hpp"
#include "run/replicates.hpp"
#include "run/run_plan.hpp"
#include "scenario/scenario.hpp"
#include "simctl/commands.hpp"
#include "simctl/settings.hpp"
#include "simctl/summary.hpp"

namespace syncopate {

namespace {

/// An estimate knows no more.
template <class Quantity>
Quantity two_digits(Quantity quantity) {
  return Quantity(std::stod(fmt::format("{:.1e}", quantity.value)));
}

/// Throws InputError for a point that a run could not begin.
void require_plans(const Study& study) {
  for (const Point& point : study.points) {
    try {
      require_plan(point.scenario);
    } catch (const SimulationError& error) {
      throw InputError(fmt::format("{}: point {}: {}", study.file, point.index, error.what()));
    }
  }
}

/// What a run takes, `until` included, and which point the most; and the first one that it refuses, if any.
void print_estimate(const Study& study) {
  double steps = 0.0;
  Seconds time;
  Seconds with_longest_windows;
  Bytes memory;
  bool has_actors = false;
  const char* about = "about";
  const Point* longest = &study.points.front();
  Cost most;
  std::string refused;
  const Limits limits = {.memory = available_memory()};
  constexpr std::chrono::seconds most_time_to_see_paces(3);
  const auto begin = std::chrono::steady_clock::now();
  for (const Point& point : study.points) {
    if (point.same_as != point.index) continue;  // not simulated
    const bool measures_until = point.scenario.measures_until();
    const bool has_until = measures_until && point.scenario.until;
    CostEstimate estimate(point.scenario);
    if (std::chrono::steady_clock::now() - begin < most_time_to_see_paces) estimate.see_paces();
    const Cost once = estimate.most();
    if (has_until) about = "at most";
    const int replicates = replicates_of(point.scenario);
    const Cost all = {replicates * once.steps, replicates * once.time, once.memory, once.has_actors};
    steps += all.steps;
    time += all.time;
    with_longest_windows += replicates * estimate.with_longest_window(once).time;
    memory = std::max(memory, all.memory);
    has_actors = has_actors || all.has_actors;
    if (all.time > most.time) {
      longest = &point;
      most = all;
    }
    if (!refused.empty()) continue;
    const std::string excess = describe_excess(point.scenario, measures_until ? estimate.first() : once, limits);
    if (!excess.empty()) refused = fmt::format("point {}: {}", point.index, excess);
  }
  time += time_to_start + (has_actors ? time_to_load_actors : Seconds(0));
  const bool has_one_point = study.points.size() == 1;
  const bool may_go_on = with_longest_windows > 2.0 * time;
  display("a run takes {} {} on one core{} and {}{} of memory{}, for {:.2g} gradient steps", about, format_seconds(two_digits(time)),
          may_go_on ? fmt::format(" (up to {} if iterations differ more than is known beforehand)",
                                  format_seconds(two_digits(with_longest_windows)))
                    : "",
          has_one_point ? "" : "up to ", format_bytes(two_digits(memory)), has_one_point ? "" : " a point", steps);
  if (!has_one_point) {
    display("; most of it point {} ({}): {}, for {:.2g} steps", longest->index, swept_values(*longest, ", "),
            format_seconds(two_digits(most.time)), most.steps);
  }
  display("\n");
  if (!refused.empty()) display("a run refuses {}\n", refused);
}

}  // namespace

void add_check_command(CLI::App& app) {
  struct Options {
    std::string scenario;
    SettingOptions settings;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("check", "Validate a scenario and everything that it names, and estimate what a run takes, without simulating it");
  command->add_option("SCENARIO", options->scenario, "scenario/1 file, or a name that \"simctl list scenarios\" shows")->required();
  add_setting_options(*command, options->settings);
  command->footer("Example: simctl check scalability");
  command->callback([options] {
    const Study study = read_study(options->scenario, read_settings(options->settings, options->scenario));
    require_plans(study);
    display("{}: valid, {} point{}\n", study.file, study.points.size(), study.points.size() == 1 ? "" : "s");
    print_estimate(study);
  });
}

}  // namespace syncopate
