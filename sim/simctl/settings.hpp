#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "scenario/scenario.hpp"
#include "schedule/schedules.hpp"

namespace syncopate {

/// The options that change a scenario, as they were given.
struct SettingOptions {
  std::string trace;
  std::string cluster;
  std::string schedules;
  std::string bandwidths;
  std::string nodes;
  std::vector<std::string> settings;  ///< of --set
};

void add_setting_options(CLI::App& command, SettingOptions& options);

/// What they set in the scenario of that name, --set last. Several values for a key become its sweep. Throws UsageError, and InputError for
/// files that cannot be found.
std::vector<Setting> read_settings(const SettingOptions& options, const std::string& scenario);

/// Schedules by name, with their papers' values for parameters that have no default, or as JSON with parameters. Throws UsageError that
/// names the option.
std::vector<Json> read_schedule_list(const std::string& text, const char* option);
/// Ascending numbers of nodes such as 4,8,16. Throws UsageError that names the option.
std::vector<int> read_node_list(const std::string& text, const char* option);
/// The schedule with its paper's values for parameters that have no default.
Json with_paper_values(const ScheduleRow& row);

/// The words of a command line that give them again.
std::vector<std::string> words_of(const SettingOptions& options);

}  // namespace syncopate
