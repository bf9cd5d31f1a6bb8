#include "simctl/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/files.hpp"
#include "base/project_files.hpp"
#include "base/text.hpp"
#include "schedule/schedules.hpp"

namespace syncopate {

namespace {

namespace fs = std::filesystem;

/// The values that an option's text gives its key. `folder`: the scenario's, to which the names of its files are relative.
using Values = std::vector<Json> (*)(const std::string& text, const char* option, const fs::path& folder);

/// The items between commas. Throws UsageError for an empty one.
std::vector<std::string> items_of(const std::string& text, const char* option) {
  std::vector<std::string> items = split_at_commas(text);
  for (const std::string& item : items) {
    if (item.empty())
      throw UsageError(fmt::format("{} \"{}\": a value is empty; give values between commas, or leave the option out", option, text));
  }
  return items;
}

/// A file as the scenario names it. `text` is relative to the current folder.
Json reference(const std::string& text, FileKind kind, const fs::path& folder) {
  const bool is_path = text.find('/') != std::string::npos || text.ends_with(".json");
  if (!is_path) {
    named_file(text, {kind}, folder);
    return text;
  }
  require_readable_file(text);
  return way_from(folder, text);
}

template <FileKind kind>
std::vector<Json> files(const std::string& text, const char* option, const fs::path& folder) {
  std::vector<Json> values;
  for (const std::string& name : items_of(text, option)) values.push_back(reference(name, kind, folder));
  return values;
}

std::vector<Json> schedule_values(const std::string& text, const char* option, const fs::path& /*folder*/) {
  return read_schedule_list(text, option);
}

std::vector<Json> texts(const std::string& text, const char* option, const fs::path& /*folder*/) {
  const std::vector<std::string> parts = items_of(text, option);
  return {parts.begin(), parts.end()};
}

std::vector<Json> node_values(const std::string& text, const char* option, const fs::path& /*folder*/) {
  const std::vector<int> nodes = read_node_list(text, option);
  return {nodes.begin(), nodes.end()};
}

struct OptionRow {
  const char* option;
  const char* pointer;
  std::string SettingOptions::*text;
  Values values;
  const char* help;
};

/// Outer keys first, so that --nodes changes what --cluster names.
constexpr std::array daily_options = {
    OptionRow{"--trace", "/trace", &SettingOptions::trace, files<FileKind::trace>,
              "/trace: files, or names that \"simctl list traces\" shows"},
    OptionRow{"--cluster", "/cluster", &SettingOptions::cluster, files<FileKind::cluster>,
              "/cluster: files, or names that \"simctl list clusters\" shows"},
    OptionRow{"--schedule", "/schedule", &SettingOptions::schedules, schedule_values,
              "/schedule: names that \"simctl list schedules\" shows, or JSON with parameters"},
    OptionRow{"--bandwidth", "/cluster/link/bandwidth", &SettingOptions::bandwidths, texts,
              "/cluster/link/bandwidth, such as 25Gbps,100Gbps"},
    OptionRow{"--nodes", "/cluster/nodes", &SettingOptions::nodes, node_values, "/cluster/nodes, such as 8,64"}};

fs::path folder_of_scenario(const std::string& scenario) {
  return scenario == "-" ? fs::path() : named_file(scenario, {FileKind::scenario}).parent_path();
}

}  // namespace

Json with_paper_values(const ScheduleRow& row) {
  Json schedule = {{"name", row.name}};
  for (const ParameterInfo& parameter : row.parameters) {
    if (parameter.default_value.empty()) schedule[parameter.name] = parameter.paper_value;
  }
  return schedule;
}

std::vector<Json> read_schedule_list(const std::string& text, const char* option) {
  if (text.starts_with('{') || text.starts_with('[')) {
    try {
      const Json json = parse_json(text, option);
      return json.is_array() ? std::vector<Json>(json.begin(), json.end()) : std::vector<Json>{json};
    } catch (const InputError& error) {
      throw UsageError(error.what());
    }
  }
  std::vector<std::string> names;
  for (const ScheduleRow& row : schedules()) names.emplace_back(row.name);
  std::vector<Json> chosen;
  for (const std::string& name : split_at_commas(text)) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) throw UsageError(fmt::format("{}: no schedule is called \"{}\"{}", option, name, did_you_mean(name, names)));
    const Json schedule = with_paper_values(schedules()[static_cast<std::size_t>(found - names.begin())]);
    if (std::find(chosen.begin(), chosen.end(), schedule) != chosen.end())
      throw UsageError(fmt::format("{}: {} is there twice", option, name));
    chosen.push_back(schedule);
  }
  return chosen;
}

std::vector<int> read_node_list(const std::string& text, const char* option) {
  constexpr int most = 1 << 20;
  const auto nodes = parse_ranges(text, most);
  if (!nodes || nodes->front() == 0)
    throw UsageError(fmt::format("{} {}: expected ascending whole numbers from 1 on, such as 4,8,16", option, text));
  return *nodes;
}

void add_setting_options(CLI::App& command, SettingOptions& options) {
  const auto is_given = [](const std::string& text) {
    return text.empty() ? std::string("the value is empty; leave it out") : std::string();
  };
  for (const OptionRow& row : daily_options)
    command.add_option(row.option, options.*row.text, fmt::format("{}; of several values, a sweep", row.help))->check(is_given);
  command.add_option("--set", options.settings, "POINTER=JSON: set a value of the scenario; at a swept pointer, pin it; may be repeated")
      ->allow_extra_args(false);
}

std::vector<Setting> read_settings(const SettingOptions& options, const std::string& scenario) {
  std::vector<Setting> settings;
  for (const OptionRow& row : daily_options) {
    const std::string& text = options.*row.text;
    if (text.empty()) continue;
    std::vector<Json> values = row.values(text, row.option, folder_of_scenario(scenario));
    settings.push_back({row.pointer, std::move(values), row.option, true});
  }
  for (const std::string& text : options.settings) settings.push_back(parse_setting(text));
  return settings;
}

std::vector<std::string> words_of(const SettingOptions& options) {
  std::vector<std::string> words;
  for (const OptionRow& row : daily_options) {
    if (!(options.*row.text).empty()) words.insert(words.end(), {row.option, options.*row.text});
  }
  for (const std::string& setting : options.settings) words.insert(words.end(), {"--set", setting});
  return words;
}

}  // namespace syncopate
