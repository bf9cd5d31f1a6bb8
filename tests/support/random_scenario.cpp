#include "support/random_scenario.hpp"

#include <algorithm>
#include <cmath>

#include "scenario/read.hpp"
#include "schedule/grouping.hpp"
#include "support/random_point.hpp"

namespace syncopate::testing {

const std::string& RandomScenarios::any(const std::vector<std::string>& names) {
  return names[static_cast<std::size_t>(whole(0, static_cast<int>(names.size()) - 1))];
}

/// A value of a parameter as it is declared, of a size that a test can afford.
Json RandomScenarios::value(const ParameterInfo& parameter, int nodes) {
  using Kind = ParameterInfo::Kind;
  switch (parameter.kind) {
    case Kind::integer: {
      const int low = static_cast<int>(parameter.low);
      return whole(low, parameter.name == "servers" ? nodes : std::min(static_cast<int>(parameter.high), low + 5));
    }
    case Kind::number: return number(parameter.low + 0.01, std::min(parameter.high, 8.0));
    case Kind::boolean: return chance(0.5);
    case Kind::seconds: return number(0.0, 1e-3);
    case Kind::bytes: return whole(1, 10'000'000);
    case Kind::seconds_per_byte: return number(0.0, 1e-9);
    case Kind::choice: return any(parameter.choices);
    case Kind::grouping: return std::string(groupings()[static_cast<std::size_t>(whole(0, static_cast<int>(groupings().size()) - 1))].name);
  }
  return nullptr;
}

Json RandomScenarios::schedule(const ScheduleRow& row, int nodes) {
  Json json = {{"name", row.name}};
  for (const ParameterInfo& parameter : row.parameters) {
    if (parameter.default_value.empty() || chance(0.5)) json[parameter.name] = value(parameter, nodes);
  }
  return json;
}

Json RandomScenarios::cluster(int nodes) {
  Json cluster = {{"format", "cluster/1"},
                  {"name", "random"},
                  {"nodes", nodes},
                  {"link", {{"bandwidth", std::pow(10.0, number(7.0, 11.0))}, {"latency", std::pow(10.0, number(-6.0, -3.0))}}},
                  {"reduce_s_per_B", chance(0.5) ? 0.0 : number(0.0, 3e-9)}};
  if (chance(0.25)) {
    cluster["gpus_per_node"] = whole(2, 4);
    cluster["intra_node"] = {{"bandwidth", number(1e9, 1e11)}, {"latency", number(0.0, 1e-4)}};
  }
  if (chance(0.2)) cluster["latency_cv"] = number(0.0, 0.5);
  return cluster;
}

/// With places for more nodes than are drawn.
Json RandomScenarios::topology() {
  Json json = {{"topology", {{"name", "fat-tree"}, {"k", 8}, {"oversubscription", chance(0.5) ? 1 : 2}}}};
  if (chance(0.3)) json["topology"] = {{"name", "torus"}, {"dimensions", {3, 3, 6}}};
  if (chance(0.7)) json["placement"] = {{"name", "random"}, {"seed", whole(1, 1000)}};
  return json;
}

Json RandomScenarios::workers(int count) {
  Json workers = Json::object();
  if (chance(0.2)) return workers;
  for (int rank = 0; chance(0.6) && rank < count; rank += whole(1, count)) {
    workers["slow"].push_back({{"ranks", std::to_string(rank)}, {"factor", number(1.0, 3.0)}});
  }
  if (chance(0.3)) workers["jitter"] = {{"distribution", "uniform"}, {"cv", number(0.0, 0.5)}};
  if (chance(0.2)) workers["jitter"] = {{"distribution", "lognormal"}, {"cv", number(0.0, 0.5)}};
  if (chance(0.2)) workers["jitter"] = {{"distribution", "empirical"}, {"factors", {0.5, 0.75, 1.75}}};
  for (int pauses = chance(0.3) ? whole(1, 4) : 0; pauses > 0; --pauses) {
    workers["events"].push_back(
        {{"kind", "pause"}, {"rank", whole(0, count - 1)}, {"at_s", number(0.0, 0.5)}, {"for_s", number(1e-4, 0.3)}});
  }
  if (chance(0.2)) workers["overlap_slowdown"] = number(0.0, 0.6);
  return workers;
}

Json RandomScenarios::draw(const ScheduleRow& row) {
  const bool messages = chance(0.4);
  const int nodes = messages ? whole(2, 12) : whole(2, 33);
  Json scenario = {{"format", "scenario/1"},
                   {"name", "random"},
                   {"trace", parse_json(write_trace(random_trace(random_, 8)), "trace")},
                   {"cluster", cluster(nodes)},
                   {"schedule", schedule(row, nodes)},
                   {"fidelity", "alpha-beta"},
                   {"iterations", {{"warmup", whole(0, 6)}, {"measured", whole(1, 12)}}},
                   {"seed", random_()}};
  scenario["workers"] = workers(nodes * scenario["cluster"].value("gpus_per_node", 1));
  const bool is_partial = scenario["schedule"].value("participants", 1.0) < 1.0;
  if (messages) scenario["fidelity"] = chance(0.7) || is_partial ? "per-message" : "flow";
  if (messages) scenario["all_reduce"] = algorithms()[static_cast<std::size_t>(whole(0, static_cast<int>(algorithms().size()) - 1))].name;
  if (scenario["fidelity"] == "flow" && chance(0.5)) scenario["cluster"].update(topology());
  if (chance(0.2) && !is_partial && !scenario["schedule"].contains("in_flight")) scenario["channels"] = whole(1, 4);
  return scenario;
}

Point read_point(const Json& scenario) {
  const Document document(scenario, "random");
  Library library(".");
  Point point;
  point.scenario = read_scenario(document, library);
  return point;
}

}  // namespace syncopate::testing
