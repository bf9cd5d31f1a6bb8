#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/memory.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "run/cost.hpp"
#include "run/limits.hpp"
#include "run/replicates.hpp"
#include "scenario/scenario.hpp"
#include "simctl/commands.hpp"
#include "simctl/summary.hpp"

namespace syncopate {

namespace {

/// Nobody knows better.
template <class Quantity>
Quantity two_digits(Quantity quantity) {
  return Quantity(std::stod(fmt::format("{:.1e}", quantity.value)));
}

/// What a run takes, `until` included, and which point the most; and the first one that it refuses, if any.
void print_estimate(const Study& study) {
  double steps = 0.0;
  Seconds time;
  Bytes memory;
  const char* about = "about";
  const Point* longest = &study.points.front();
  Cost most;
  std::string refused;
  const Limits limits = {.memory = available_memory()};
  for (const Point& point : study.points) {
    const Cost one = estimate_most(point.scenario);
    if (point.scenario.measures_until()) about = "at most";
    const int replicates = replicates_of(point.scenario);
    const Cost all = {replicates * one.steps, replicates * one.time, one.memory};
    steps += all.steps;
    time += all.time;
    memory = std::max(memory, all.memory);
    if (all.time > most.time) {
      longest = &point;
      most = all;
    }
    if (!refused.empty()) continue;
    const std::string excess = describe_excess(point.scenario, estimate_cost(point.scenario), limits);
    if (!excess.empty()) refused = fmt::format("point {}: {}", point.index, excess);
  }
  const bool is_one = study.points.size() == 1;
  display("a run takes {} {} on one core and {}{} of memory{}, for {:.2g} gradient steps", about, format_seconds(two_digits(time)),
          is_one ? "" : "up to ", format_bytes(two_digits(memory)), is_one ? "" : " a point", steps);
  if (!is_one) {
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
    std::vector<std::string> settings;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("check", "Validate a scenario and everything that it names, and estimate what a run takes, without simulating");
  command->add_option("SCENARIO", options->scenario, "scenario/1 file, or a name that \"simctl list scenarios\" shows")->required();
  command->add_option("--set", options->settings, "POINTER=JSON: set a value of the scenario")->allow_extra_args(false);
  command->footer("Example: simctl check scalability");
  command->callback([options] {
    std::vector<Setting> settings;
    for (const std::string& text : options->settings) settings.push_back(parse_setting(text));
    const Study study = read_study(options->scenario, settings);
    display("{}: valid, {} point{}\n", study.file, study.points.size(), study.points.size() == 1 ? "" : "s");
    print_estimate(study);
  });
}

}  // namespace syncopate
