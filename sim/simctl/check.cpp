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
#include "run/usual_networks.hpp"
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

/// What a run takes, `until` included.
struct StudyCost {
  Cost all;                        ///< of all points; the memory of the one that takes most
  Seconds with_longest_windows;    ///< its time if iterations differ more than is known beforehand
  bool is_most = false;            ///< a run may stop sooner, with `until`
  const Point* longest = nullptr;  ///< the point that takes most of the time
  Cost most;                       ///< of that
  const Point* refused = nullptr;  ///< the first one that a run refuses, if any
  std::string why;                 ///< it does
};

StudyCost cost_of(const Study& study) {
  StudyCost found;
  found.longest = &study.points.front();
  Cost& sum = found.all;
  const Limits limits = {.memory = available_memory()};
  const bool has_ranges = shows_ranges(study);
  const auto begin = std::chrono::steady_clock::now();
  for (const Point& point : study.points) {
    if (point.same_as != point.index) continue;  // not simulated
    const bool measures_until = point.scenario.measures_until();
    CostEstimate estimate(point.scenario);
    if (std::chrono::steady_clock::now() - begin < most_time_to_see_paces) estimate.see_paces();
    const Cost once = estimate.most();
    found.is_most = found.is_most || (measures_until && point.scenario.until);
    const int simulations = replicates_of(point.scenario) * (has_ranges ? networks_of(point.scenario) : 1);
    const Cost all = {simulations * once.steps, simulations * once.time, once.memory, once.has_actors};
    sum.steps += all.steps;
    sum.time += all.time;
    found.with_longest_windows += simulations * estimate.with_longest_window(once).time;
    sum.memory = std::max(sum.memory, all.memory);
    sum.has_actors = sum.has_actors || all.has_actors;
    if (all.time > found.most.time) {
      found.longest = &point;
      found.most = all;
    }
    if (found.refused != nullptr) continue;
    found.why = describe_excess(point.scenario, measures_until ? estimate.first() : once, limits);
    if (!found.why.empty()) found.refused = &point;
  }
  sum.time += time_to_start + (sum.has_actors ? time_to_load_actors : Seconds(0));
  found.with_longest_windows = std::max(found.with_longest_windows, sum.time);
  return found;
}

void print_cost(const Study& study, const StudyCost& found) {
  display("{}: valid, {} point{}\n", study.file, study.points.size(), study.points.size() == 1 ? "" : "s");
  const bool has_one_point = study.points.size() == 1;
  const bool may_go_on = found.with_longest_windows > 2.0 * found.all.time;
  display("a run takes {} {} on one core{} and {}{} of memory{}, for {:.2g} gradient steps", found.is_most ? "at most" : "about",
          format_seconds(two_digits(found.all.time)),
          may_go_on ? fmt::format(" (up to {} if iterations differ more than is known beforehand)",
                                  format_seconds(two_digits(found.with_longest_windows)))
                    : "",
          has_one_point ? "" : "up to ", format_bytes(two_digits(found.all.memory)), has_one_point ? "" : " a point", found.all.steps);
  if (!has_one_point) {
    display("; most of it point {} ({}): {}, for {:.2g} steps", found.longest->index, swept_values(*found.longest, ", "),
            format_seconds(two_digits(found.most.time)), found.most.steps);
  }
  display("\n");
  if (found.refused != nullptr) display("a run refuses point {}: {}\n", found.refused->index, found.why);
}

Json cost_as_json(const Study& study, const StudyCost& found) {
  Json json = {{"format", "check/1"},
               {"scenario", study.file},
               {"points", study.points.size()},
               {"time_s", found.all.time.value},
               {"longest_time_s", found.with_longest_windows.value},
               {"memory_bytes", found.all.memory.value},
               {"steps", found.all.steps},
               {"longest_point", {{"point", found.longest->index}, {"time_s", found.most.time.value}, {"steps", found.most.steps}}},
               {"refused", nullptr}};
  if (found.refused != nullptr) json["refused"] = {{"point", found.refused->index}, {"because", found.why}};
  return json;
}

}  // namespace

void add_check_command(CLI::App& app) {
  struct Options {
    std::string scenario;
    SettingOptions settings;
    std::string format = "text";
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("check", "Validate a scenario and everything that it names, and estimate what a run takes, without simulating it");
  command->add_option("SCENARIO", options->scenario, "scenario/1 file, or a name that \"simctl list scenarios\" shows")->required();
  add_setting_options(*command, options->settings);
  add_json_option(*command, options->format);
  command->footer("Example: simctl check scalability");
  command->callback([options] {
    const Study study = read_study(options->scenario, read_settings(options->settings, options->scenario));
    require_plans(study);
    const StudyCost found = cost_of(study);
    if (options->format == "json") return print_data(pretty(cost_as_json(study, found)));
    print_cost(study, found);
  });
}

}  // namespace syncopate
