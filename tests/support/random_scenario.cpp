#include "support/random_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "scenario/read.hpp"
#include "schedule/compression.hpp"
#include "schedule/grouping.hpp"

namespace syncopate::testing {

namespace {

int whole(int low, int high) { return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1)); }

double number(double low, double high) {
  constexpr int steps = 1 << 24;
  return low + (high - low) * (whole(0, steps) + 0.5) / (steps + 1);
}

bool chance(double probability) { return number(0.0, 1.0) > 1.0 - probability; }

/// Of any magnitude in between; often with one digit alone, so that sums of some meet sums of others.
double figure(double low, double high) {
  const double any = std::pow(10.0, number(std::log10(low), std::log10(high)));
  const double digit = std::pow(10.0, std::floor(std::log10(any)));
  return chance(0.5) ? std::round(any / digit) * digit : any;
}

const std::string& any(const std::vector<std::string>& names) {
  return names[static_cast<std::size_t>(whole(0, static_cast<int>(names.size()) - 1))];
}

Json compression() {
  const Compression& row = compressions()[static_cast<std::size_t>(whole(0, static_cast<int>(compressions().size()) - 1))];
  if (chance(0.3)) return std::string(row.name);
  Json json = {{"name", row.name}};
  if (row.share < 1.0) json["ratio"] = number(0.001, 1.0);
  if (chance(0.5)) json["encode_s_per_B"] = figure(1e-13, 1e-9);
  if (chance(0.5)) json["decode_s_per_B"] = figure(1e-13, 1e-9);
  return json;
}

/// A value of a parameter as it is declared, of a size that a test can afford.
Json value(const ParameterInfo& parameter, int nodes) {
  using Kind = ParameterInfo::Kind;
  switch (parameter.kind) {
    case Kind::integer: {
      const int low = static_cast<int>(parameter.low);
      if (parameter.name == "backup") return whole(0, std::min(nodes - 1, 3));
      return whole(low, parameter.name == "servers" ? nodes : std::min(static_cast<int>(parameter.high), low + 5));
    }
    case Kind::number: return number(parameter.low + 0.01, std::min(parameter.high, 8.0));
    case Kind::boolean: return chance(0.5);
    case Kind::seconds: return number(0.0, 1e-3);
    case Kind::bytes:
      if (parameter.name == "units") return chance(0.5) ? Json(whole(1, 3)) : Json(fmt::format("{}kB", whole(1, 5000)));
      return whole(1, 10'000'000);
    case Kind::seconds_per_byte: return number(0.0, 1e-9);
    case Kind::choice: return any(parameter.choices);
    case Kind::compression: return compression();
    case Kind::groups: return Json::array({1});
    case Kind::grouping: return std::string(groupings()[static_cast<std::size_t>(whole(0, static_cast<int>(groupings().size()) - 1))].name);
  }
  return nullptr;
}

void leave_out_what_does_not_suit(Json& schedule) {
  const auto leave_out = [&](std::initializer_list<const char*> keys) {
    for (const char* const key : keys) schedule.erase(key);
  };
  const std::string name = schedule["name"];
  if (name == "bytescheduler" && schedule.value("over", "all-reduce") == "all-reduce")
    leave_out({"servers", "colocated", "server_s_per_B"});
  if (name == "bytescheduler" && schedule.value("rule", "positive") == "fits") leave_out({"credit"});
  if (name == "bytescheduler" || name == "p3" || schedule.contains("partition")) schedule["partition"] = whole(1'000'000, 10'000'000);
  if (schedule.value("backup", 0) > 0) leave_out({"duplex", "pulls"});
  if (name == "dear" && schedule.contains("compression")) schedule["compression"] = chance(0.5) ? "fp16" : "random-k";
  if (name != "zero") return;
  if (schedule.value("stage", 3) < 3) {
    leave_out({"reshard_after_forward", "prefetch", "reshard_last", "limit_all_gathers"});
  } else {
    leave_out({"gather"});
  }
}

Json schedule(const ScheduleRow& row, int nodes) {
  Json json = {{"name", row.name}};
  for (const ParameterInfo& parameter : row.parameters) {
    if (parameter.default_value.empty() || chance(0.5)) json[parameter.name] = value(parameter, nodes);
  }
  leave_out_what_does_not_suit(json);
  if (json.contains("servers") && json.contains("compression") && json["compression"].is_object()) {
    json["compression"]["pull"] = chance(0.5) ? "whole" : "compressed";
  }
  if (json.value("in_flight", "serial") == "pipelined") {
    json.erase("duplex");
    json.erase("within_node");
  }
  return json;
}

Json latency_jitter() {
  if (chance(0.5)) return {{"distribution", "uniform"}, {"cv", number(0.0, 0.5)}};
  return {{"distribution", "empirical"}, {"factors", {0.5, 0.75, 1.75}}};
}

/// Half of the links are about as fast as the trace needs them to be, where it matters most what overlaps what.
Json cluster(int nodes, const Json& trace) {
  double bytes = 0.0;
  double compute = 0.0;
  for (const Json& gradient : trace["gradients"]) bytes += gradient["bytes"].get<double>();
  for (const Json& layer : trace["layers"]) compute += layer["forward_s"].get<double>() + layer["backward_s"].get<double>();
  const bool suits = chance(0.5);
  const double bandwidth = suits ? bytes / compute * figure(0.1, 10.0) : figure(1e7, 1e11);
  const double latency = suits ? compute * figure(1e-3, 0.3) : figure(1e-6, 1e-3);
  Json cluster = {{"format", "cluster/1"},
                  {"name", "random"},
                  {"nodes", nodes},
                  {"link", {{"bandwidth", bandwidth}, {"latency", chance(0.1) ? 0.0 : latency}}},
                  {"reduce_s_per_B", chance(0.5) ? 0.0 : number(0.0, 1.0 / bandwidth)}};
  if (chance(0.25)) {
    cluster["gpus_per_node"] = whole(2, 4);
    cluster["intra_node"] = {{"bandwidth", figure(1e9, 1e11)}, {"latency", chance(0.1) ? 0.0 : figure(1e-6, 1e-4)}};
  }
  if (chance(0.2)) cluster["latency_cv"] = number(0.0, 0.5);
  if (chance(0.1)) cluster["link"]["latency_jitter"] = latency_jitter();
  return cluster;
}

/// Two or three of them, whose links may change.
void divide_into_regions(Json& cluster, int nodes, bool change) {
  const int count = std::min(nodes, whole(2, 3));
  for (int region = 0; region < count; ++region) {
    cluster["regions"].push_back({{"name", fmt::format("r{}", region)}, {"nodes", region == 0 ? nodes - count + 1 : 1}});
    for (int other = 0; other < region; ++other) {
      Json link = {{"between", {fmt::format("r{}", other), fmt::format("r{}", region)}},
                   {"rtt", figure(1e-4, 0.1)},
                   {"bandwidth", {{"up", figure(1e7, 1e10)}, {"down", figure(1e7, 1e10)}}}};
      if (chance(0.2)) link["latency_jitter"] = latency_jitter();
      if (chance(0.3)) link["tcp_window"] = static_cast<std::int64_t>(figure(1e4, 1e7));
      if (change && chance(0.3)) link["rtt_profile"] = {{{"at_s", figure(1e-3, 1.0)}, {"rtt", figure(1e-4, 0.1)}}};
      cluster["wan"].push_back(link);
    }
  }
}

/// With places for more nodes than are drawn.
Json topology() {
  Json json = {{"topology", {{"name", "fat-tree"}, {"k", 8}, {"oversubscription", chance(0.5) ? 1 : 2}}}};
  if (chance(0.3)) json["topology"] = {{"name", "torus"}, {"dimensions", {3, 3, 6}}};
  if (chance(0.7)) json["placement"] = {{"name", "random"}, {"seed", whole(1, 1000)}};
  return json;
}

Json workers(int count) {
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
  if (chance(0.1)) workers["overlap_slowdown"] = {{"factor", number(0.0, 0.6)}, {"by", "traffic"}};
  return workers;
}

Json trace() {
  Json trace = {{"format", "trace/1"}, {"provenance", {{"kind", "synthetic"}}}, {"model", {{"name", "random"}, {"batch", 8}}}};
  const int layers = whole(1, 8);
  for (int i = 0; i < layers; ++i) {
    const auto time = [] { return chance(0.9) ? figure(1e-5, 5e-3) : 0.0; };
    trace["layers"].push_back({{"name", fmt::format("l{}", i)}, {"forward_s", time() + 1e-6}, {"backward_s", time()}});
  }
  const bool are_recorded = chance(0.5);
  double ready = 0.0;
  for (int i = layers; i-- > 0;) {
    for (int tensor = whole(i == 0 ? 1 : 0, 2); tensor-- > 0;) {
      ready += number(0.0, 3e-3);
      Json gradient = {{"name", fmt::format("l{}.{}", i, tensor)}, {"layer", fmt::format("l{}", i)}};
      gradient["bytes"] = static_cast<std::int64_t>(figure(10.0, 1e8));
      if (are_recorded) gradient["ready_s"] = ready;
      trace["gradients"].push_back(gradient);
    }
  }
  if (chance(0.3)) trace["iteration"]["forward_s"] = number(1e-4, 1e-1);
  if (are_recorded && chance(0.3)) trace["iteration"]["backward_s"] = ready + number(0.0, 1e-2);
  if (chance(0.5)) trace["update_s"] = number(0.0, 2e-3);
  return trace;
}

bool is_served_in_order(const Json& scenario) {
  const Json& cluster = scenario["cluster"];
  const bool is_star = !cluster.contains("regions") && !cluster.contains("topology");
  return is_star && !cluster["link"].contains("latency_jitter") && !scenario["schedule"].value("colocated", false);
}

/// diloco's rounds, of this model on this cluster.
void draw_rounds(Json& scenario) {
  Json& schedule = scenario["schedule"];
  std::set<std::string> layers;
  for (const Json& gradient : scenario["trace"]["gradients"]) layers.insert(gradient["layer"].get<std::string>());
  const int interval = whole(1, 20);
  const bool waits_for_all = chance(0.7) || scenario["fidelity"] == "flow" || scenario["cluster"].contains("host");
  const int fragments = waits_for_all ? whole(1, std::min(interval, static_cast<int>(layers.size()))) : 1;
  schedule["interval"] = interval;
  schedule["fragments"] = fragments;
  schedule["overlap"] = whole(0, interval / fragments);
  if (waits_for_all) {
    schedule.erase("quorum");
    schedule.erase("deadline_s");
  } else {
    schedule["quorum"] = whole(20, 95) / 100.0;
    schedule.erase("matchmaking_s");
    schedule.erase("posts");
    scenario.erase("channels");
  }
  if (schedule.value("worker", "gpu") == "region" && !scenario["cluster"].contains("regions")) schedule["worker"] = "node";
  if (schedule.value("worker", "gpu") == "gpu") return;
  schedule.erase("posts");
  scenario.erase("channels");
}

}  // namespace

Json draw_scenario(const ScheduleRow& row) {
  const bool messages = chance(0.7);
  const int nodes = messages ? whole(2, 12) : whole(2, 33);
  const Json layers = trace();
  Json scenario = {{"format", "scenario/1"},
                   {"name", "random"},
                   {"trace", layers},
                   {"cluster", cluster(nodes, layers)},
                   {"schedule", schedule(row, nodes)},
                   {"fidelity", "alpha-beta"},
                   {"iterations", {{"warmup", whole(0, 6)}, {"measured", whole(1, 12)}}},
                   {"seed", whole(0, 1 << 30)}};
  scenario["workers"] = workers(nodes * scenario["cluster"].value("gpus_per_node", 1));
  const bool is_partial = scenario["schedule"].value("participants", 1.0) < 1.0;
  if (chance(0.2)) {
    scenario["cluster"]["host"] = {{"per_message_s", figure(1e-6, 1e-3)},
                                   {"per_collective_s", figure(1e-6, 1e-3)},
                                   {"per_rank_s", figure(1e-7, 1e-4)},
                                   {"per_tensor_s", figure(1e-7, 1e-4)}};
  }
  if (messages) scenario["fidelity"] = chance(0.6) || is_partial ? "per-message" : "flow";
  if (messages) scenario["all_reduce"] = algorithms()[static_cast<std::size_t>(whole(0, static_cast<int>(algorithms().size()) - 1))].name;
  const bool is_flow = scenario["fidelity"] == "flow";
  if (messages && chance(0.2)) {
    divide_into_regions(scenario["cluster"], nodes, is_flow);
    if (chance(0.5)) scenario["all_reduce"] = "by-region";
  } else if (is_flow && chance(0.5)) {
    scenario["cluster"].update(topology());
  }
  const bool replicates = scenario["schedule"].contains("shard_group");
  if (chance(0.2) && !is_partial && !replicates && !scenario["schedule"].contains("in_flight")) scenario["channels"] = whole(1, 4);
  if (chance(0.15)) {
    scenario["all_reduce"] = {{"name", "ring"}, {"across", "gpus"}};
  } else if (messages && chance(0.2)) {
    scenario["cluster"]["protocol"] = {{"rendezvous", chance(0.7)}, {"segments", whole(1, 3)}};
  }
  if (scenario["schedule"]["name"] == "diloco") draw_rounds(scenario);
  if (!is_flow && is_served_in_order(scenario)) return scenario;
  scenario["schedule"].erase("service");
  return scenario;
}

double distance(const Metrics& a, const Metrics& b) {
  double worst = 0.0;
  const auto see = [&](Seconds x, Seconds y) { worst = std::max(worst, std::abs((x - y).value) / a.iteration.value); };
  see(a.iteration, b.iteration);
  see(a.iteration_p50, b.iteration_p50);
  see(a.iteration_p95, b.iteration_p95);
  see(a.compute, b.compute);
  see(a.wait, b.wait);
  see(a.exposed_communication, b.exposed_communication);
  see(a.communication, b.communication);
  return worst;
}

std::vector<Json> with_rounding_errors(const Json& scenario) {
  std::vector<Json> off;
  const auto move = [&](const char* what, double factor, double more) {
    off.push_back(scenario);
    Json& value = off.back()["cluster"]["link"][what];
    value = factor * value.get<double>() + more;
  };
  for (const double factor : {1.0 - 4e-15, 1.0 + 4e-15, 1.0 + 1e-14}) move("bandwidth", factor, 0.0);
  for (const double more : {1e-12, 2e-12}) move("latency", 1.0, more);
  return off;
}

Point read_point(const Json& scenario) {
  const Document document(scenario, "random");
  Library library(".");
  Point point;
  point.scenario = read_scenario(document, library);
  return point;
}

}  // namespace syncopate::testing
