#include <fmt/format.h>

#include <memory>

#include "base/terminal.hpp"
#include "scenario/scenario.hpp"
#include "simctl/commands.hpp"

namespace syncopate {

void add_check_command(CLI::App& app) {
  struct Options {
    std::string scenario;
    std::vector<std::string> settings;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("check", "Validate a scenario and everything that it names, without simulating");
  command->add_option("SCENARIO", options->scenario, "scenario/1 file, or a name that \"simctl list scenarios\" shows")->required();
  command->add_option("--set", options->settings, "POINTER=JSON: set a value of the scenario")->allow_extra_args(false);
  command->footer("Example: simctl check scenarios/scalability.json");
  command->callback([options] {
    std::vector<Setting> settings;
    for (const std::string& text : options->settings) settings.push_back(parse_setting(text));
    const Study study = read_study(options->scenario, settings);
    display("{}: valid, {} point{}\n", study.file, study.points.size(), study.points.size() == 1 ? "" : "s");
  });
}

}  // namespace syncopate
