#include "advise/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/choice.hpp"
#include "base/errors.hpp"
#include "base/fields.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "cluster/cluster.hpp"
#include "cluster/platform_topology.hpp"
#include "scenario/read.hpp"
#include "schedule/schedules.hpp"

namespace syncopate {

namespace {

constexpr int most_nodes = 1'000'000;
constexpr double most_money = 1e15;
constexpr double most_samples = 1e15;  // a scenario's limit

struct ObjectiveRow {
  std::string_view name;
  Advice::Objective value;
};
constexpr std::array objectives = {ObjectiveRow{"time", Advice::Objective::time}, ObjectiveRow{"cost", Advice::Objective::cost},
                                   ObjectiveRow{"pareto", Advice::Objective::pareto}};

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const ScheduleRow& row : schedules()) names.emplace_back(row.name);
  return names;
}

const ScheduleRow& row_of(const std::string& name) {
  return *std::find_if(schedules().begin(), schedules().end(), [&](const ScheduleRow& row) { return row.name == name; });
}

/// Fails at `entry` unless `name` is a schedule.
void check_schedule_name(const Field& entry, const std::string& name) {
  const std::vector<std::string> names = schedule_names();
  if (std::find(names.begin(), names.end(), name) == names.end())
    entry.fail_because(fmt::format("\"{}\" is no schedule{}; see: simctl list schedules", name, did_you_mean(name, names)));
}

Field member(const Field& object, const std::string& key) {
  return {object.document(), object.pointer() + (JsonPointer() / key).to_string(), object.json()[key]};
}

Advice::Place read_place(const Field& field, Library& library) {
  Object fields(field);
  Advice::Place place;
  const Field cluster = fields.at("cluster");
  if (!cluster.is_text() && !cluster.is_object()) cluster.fail("a cluster's file, or an object");
  place.cluster = cluster.json();
  const Cluster own =
      cluster.is_text() ? read_cluster(library.document(cluster, FileKind::cluster)) : read_cluster(field.document(), cluster.pointer());
  place.name = own.name;
  if (own.platform) place.hosts = platform_hosts(own);
  if (const auto nodes = fields.find("nodes")) {
    for (const Field& number : nodes->list()) {
      place.nodes.push_back(static_cast<int>(number.integer(1, most_nodes)));
      if (std::count(place.nodes.begin(), place.nodes.end(), place.nodes.back()) > 1)
        number.fail_because(fmt::format("{} is listed twice", place.nodes.back()));
    }
  } else {
    place.nodes = {own.nodes};
  }
  place.price = own.price;
  if (const auto price = fields.find("price_per_node_hour")) place.price = price->number(0.0, most_money);
  fields.finish();
  return place;
}

std::string as_text(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::vector<Advice::Tuned> read_tune(const Field& field) {
  if (!field.is_object()) field.fail(R"(an object such as {"fusion.bucket": ["1MB", "400MB"]})");
  std::vector<Advice::Tuned> tuned;
  for (const auto& [key, value] : field.json().items()) {
    const Field entry = member(field, key);
    const std::size_t dot = key.find('.');
    if (dot == std::string::npos) entry.fail_because(fmt::format("\"{}\" is not SCHEDULE.PARAMETER, such as \"fusion.bucket\"", key));
    const std::string schedule = key.substr(0, dot);
    const std::string parameter = key.substr(dot + 1);
    check_schedule_name(entry, schedule);
    std::vector<std::string> names;
    for (const ParameterInfo& info : row_of(schedule).parameters) names.push_back(info.name);
    if (std::find(names.begin(), names.end(), parameter) == names.end())
      entry.fail_because(fmt::format("{} has no parameter \"{}\"{}", schedule, parameter, did_you_mean(parameter, names)));
    const std::vector<Field> ends = entry.list();
    constexpr std::size_t two = 2;
    const bool are_scalars =
        std::all_of(ends.begin(), ends.end(), [](const Field& end) { return end.is_text() || end.json().is_number(); });
    if (ends.size() != two || !are_scalars) entry.fail(R"(the least and the largest value, such as [1, 20] or ["1MB", "400MB"])");
    try {
      tuned.push_back({schedule, parameter, ValueRange(as_text(ends.front().json()), as_text(ends.back().json()))});
    } catch (const UsageError&) {
      entry.fail(
          R"(two values above 0, the larger one second, both whole, both decimal or of one unit, such as [1, 20] or ["1MB", "400MB"])");
    }
  }
  return tuned;
}

bool is_tuned(const Advice& advice, std::string_view schedule, const std::string& parameter) {
  return std::any_of(advice.tuned.begin(), advice.tuned.end(),
                     [&](const Advice::Tuned& tuned) { return tuned.schedule == schedule && tuned.parameter == parameter; });
}

/// Adds every schedule whose parameters all have a default or a range.
void add_all_schedules(Advice& advice) {
  for (const ScheduleRow& row : schedules()) {
    const auto lacking = std::find_if(row.parameters.begin(), row.parameters.end(), [&](const ParameterInfo& info) {
      return info.default_value.empty() && !is_tuned(advice, row.name, info.name);
    });
    if (lacking == row.parameters.end()) {
      advice.schedules.push_back({.schedule = {{"name", row.name}}});
    } else {
      advice.needs_values.push_back(fmt::format("{}.{}", row.name, lacking->name));
    }
  }
}

/// Reads a samples_factor. The product with the target's samples must be within a scenario's limit.
double read_factor(const Field& field, double samples) {
  constexpr double most_times = 1e6;
  const double factor = field.positive(most_times);
  if (samples * factor > most_samples) {
    field.fail_because(fmt::format("{} x the target's {} samples are more than {}; lower one of them", rounded(factor, 6),
                                   rounded(samples, 6), rounded(most_samples, 6)));
  }
  return factor;
}

Advice::Entry read_entry(const Field& field, double samples) {
  if (field.is_text()) {
    check_schedule_name(field, field.text());
    return {.schedule = {{"name", field.text()}}};
  }
  Object fields(field);
  const Field name = fields.at("name");
  check_schedule_name(name, name.text());
  Advice::Entry entry = {.schedule = field.json()};
  if (const auto factor = fields.find("samples_factor")) {
    entry.samples_factor = read_factor(*factor, samples);
    entry.schedule.erase("samples_factor");
  }
  for (const ParameterInfo& info : row_of(name.text()).parameters) fields.find(info.name);
  fields.finish();
  return entry;
}

/// Checks "tune" and "samples_factor" against a list of schedules: they name only listed schedules, and no range is given for a parameter
/// with a fixed value.
void check_mentions(const Advice& advice, const std::optional<Field>& tune, const std::optional<Field>& factors) {
  const auto named = [&](const std::string& schedule) {
    std::vector<const Advice::Entry*> entries;
    for (const Advice::Entry& entry : advice.schedules) {
      if (entry.schedule["name"] == schedule) entries.push_back(&entry);
    }
    return entries;
  };
  const auto fail_unlisted = [](const Field& field, const std::string& schedule) {
    field.fail_because(fmt::format("\"{}\" is not among the \"schedules\"; add it there, or leave this out", schedule));
  };
  for (const Advice::Tuned& tuned : advice.tuned) {
    const Field field = member(*tune, tuned.schedule + '.' + tuned.parameter);
    const auto entries = named(tuned.schedule);
    if (entries.empty()) fail_unlisted(field, tuned.schedule);
    if (std::all_of(entries.begin(), entries.end(), [&](const auto* entry) { return entry->schedule.contains(tuned.parameter); })) {
      field.fail_because(
          fmt::format("every \"{}\" among the \"schedules\" gives \"{}\" itself; leave one of them out", tuned.schedule, tuned.parameter));
    }
  }
  for (const auto& [schedule, factor] : advice.samples_factor) {
    if (named(schedule).empty()) fail_unlisted(member(*factors, schedule), schedule);
  }
}

/// Replaces the name of a file with factors by its content.
Document mount_factors(Document document, const std::filesystem::path& folder) {
  const JsonPointer place("/samples_factor");
  if (!document.root().is_object() || !document.root().contains(place) || !document.root()[place].is_string()) return document;
  const Field named = member(Field(document), "samples_factor");
  try {
    const Document factors = Document::read(folder / named.text());
    document.mount(place, factors);
  } catch (const InputError& error) {
    named.fail_because(error.what());
  }
  return document;
}

/// Drops the factors of schedules that are not listed. A file may hold factors of more schedules than one advice considers.
void drop_unlisted_factors(Advice& advice) {
  std::erase_if(advice.samples_factor, [&](const auto& factor) {
    return std::none_of(advice.schedules.begin(), advice.schedules.end(),
                        [&](const auto& entry) { return entry.schedule["name"] == factor.first; });
  });
}

std::map<std::string, double> read_factors(const Field& field, double samples) {
  if (!field.is_object()) field.fail("an object that maps schedules to numbers, such as {\"asgd\": 1.3}, or the name of a file with one");
  std::map<std::string, double> factors;
  for (const auto& [name, factor] : field.json().items()) {
    check_schedule_name(member(field, name), name);
    factors[name] = read_factor(member(field, name), samples);
  }
  return factors;
}

Advice::Risk read_risk(const Field& field) {
  Object fields(field);
  Advice::Risk risk;
  if (const auto workers = fields.find("workers")) risk.workers = workers->json();
  constexpr int most_seeds = 1000;
  if (const auto seeds = fields.find("seeds")) {
    risk.seeds = static_cast<int>(seeds->integer(1, most_seeds));
    if (!risk.workers) seeds->fail_because("seeds are those of \"workers\", which are missing here; add them, or leave \"seeds\" out");
  }
  constexpr double most_change = 0.9;
  if (const auto bandwidth = fields.find("bandwidth")) risk.bandwidth = bandwidth->number(0.0, most_change);
  fields.finish();
  return risk;
}

void read_limits(const Field& field, Advice& advice) {
  Object fields(field);
  if (const auto staleness = fields.find("staleness")) advice.most_staleness = staleness->number(0.0, most_money);
  if (const auto budget = fields.find("budget")) advice.budget = budget->positive(most_money);
  if (const auto deadline = fields.find("deadline_h")) advice.deadline_h = deadline->positive(most_money);
  fields.finish();
}

/// An objective or a limit in costs needs prices of nodes.
void check_prices(const Advice& advice, const Field& clusters) {
  const bool wants_costs = advice.objective != Advice::Objective::time || advice.budget;
  if (!wants_costs) return;
  const std::vector<Field> places = clusters.list();
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!advice.places[i].price)
      places[i].fail_because("costs are asked for (\"objective\" or \"budget\"), which need a \"price_per_node_hour\"; add it");
  }
}

}  // namespace

Advice read_advice(const std::filesystem::path& file) {
  const Document as_written = file == "-" ? Document(parse_json(read_stdin(), "stdin"), "stdin") : Document::read(file);
  const Document document = mount_factors(as_written, file.parent_path());
  Object fields{Field(document)};
  fields.format("advice/1", true);
  Json scenario = {{"format", "scenario/1"}, {"name", file == "-" ? "advice" : file.stem().string()}};
  scenario["trace"] = fields.at("trace").json();
  for (const char* key : {"granularity", "all_reduce", "channels", "workers", "iterations", "seed"}) {
    if (const auto value = fields.find(key)) scenario[key] = value->json();
  }
  Advice advice = {.scenario = Document(scenario, document.file()), .folder = file.parent_path()};
  if (const auto seed = fields.find("seed")) advice.seed = static_cast<std::uint64_t>(seed->integer(0, std::int64_t{1} << 53));
  const Field clusters = fields.at("clusters");
  Library library(advice.folder);
  for (const Field& place : clusters.list()) advice.places.push_back(read_place(place, library));
  Object target(fields.at("target"));
  advice.samples = target.at("samples").positive(most_samples);
  target.finish();
  const auto tune = fields.find("tune");
  if (tune) advice.tuned = read_tune(*tune);
  const auto factors = fields.find("samples_factor");
  if (factors) advice.samples_factor = read_factors(*factors, advice.samples);
  const auto schedules = fields.find("schedules");
  if (schedules && schedules->is_list()) {
    for (const Field& entry : schedules->list()) advice.schedules.push_back(read_entry(entry, advice.samples));
    if (factors && as_written.root()["samples_factor"].is_string()) drop_unlisted_factors(advice);
    check_mentions(advice, tune, factors);
  } else if (!schedules || schedules->json() == "all") {
    add_all_schedules(advice);
  } else {
    schedules->fail("\"all\", or a list of schedules");
  }
  if (const auto objective = fields.find("objective")) advice.objective = choose<ObjectiveRow>(*objective, objectives).value;
  if (const auto limits = fields.find("limits")) read_limits(*limits, advice);
  if (const auto risk = fields.find("risk")) {
    advice.risk = read_risk(*risk);
    if (advice.objective == Advice::Objective::pareto)
      risk->fail_because("a choice is regretted by one objective; use \"time\" or \"cost\", or leave \"risk\" out");
  }
  fields.finish();
  check_prices(advice, clusters);
  return advice;
}

}  // namespace syncopate
