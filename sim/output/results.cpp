#include "output/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "base/indexed.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "output/answer.hpp"
#include "output/figures.hpp"
#include "output/uncertainty.hpp"

namespace syncopate {

namespace {

/// A text that a spreadsheet would run as a formula gets the apostrophe before it that spreadsheets take for "text", and so does one that
/// begins with an apostrophe itself.
std::string csv_text(const std::string& text) {
  constexpr std::string_view dangerous = "=+-@\t\r'";
  return text.empty() || dangerous.find(text.front()) == std::string_view::npos ? text : "'" + text;
}

/// RFC 4180: quotes round a cell that needs them, doubled inside.
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

/// Numbers in the shortest form that reads back to the same double; strings bare; anything else as JSON.
std::string csv_value(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  return csv_cell(value.is_string() ? csv_text(value.get<std::string>()) : value.dump());
}

/// Without the folder, which differs between machines.
std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

Json trace_summary(const Trace& trace) {
  return {{"file", file_name(trace.file)},
          {"model", trace.model},
          {"batch", trace.batch},
          {"device", trace.device},
          {"provenance", provenance_json(trace.provenance)}};
}

/// For asynchronous clients that are all equal, so that none gets ahead; else empty.
std::string note_equal_clients(const Scenario& scenario) {
  const auto& servers = scenario.schedule.traffic.servers;
  const Cluster& cluster = scenario.cluster;
  if (!servers || !servers->asynchronous || servers->service == Service::fifo || !scenario.speed.uniform()) return "";
  const bool equal_links = cluster.is_star() && !cluster.link.jitter.varies() && (!servers->colocated || servers->servers == cluster.nodes);
  if (!equal_links || cluster.nodes == 1) return "";
  return fmt::format(
      "equal clients of {} push in lock-step here and queue at the servers as synchronous ones do; real ones do not, and "
      "took up to 14% less (tests/validation): set \"/workers/jitter\", even of 0.1%, and \"/iterations/warmup\": 50",
      scenario.schedule.name);
}

/// For failure rates that are in proportion to GPUs or nodes.
std::string note_rates(const Scenario& scenario) {
  if (!scenario.run || scenario.run->failures.empty()) return "";
  return "failures in proportion to GPUs or nodes: one rate for all sizes is optimistic for small jobs (of 1,024 GPUs in Meta's clusters, "
         "28.8 h between failures where 7.9 h were measured: A. Kokolis et al., \"Revisiting Reliability in Large-Scale Machine Learning "
         "Research Clusters\", 2024)";
}

/// For links whose bandwidth nobody measured.
std::set<std::string> note_nominal(const Cluster& cluster) {
  std::set<std::string> found;
  const auto note = [&](const std::optional<LinkKind>& kind, double efficiency, const char* link) {
    if (!kind || cluster.is_fitted() || efficiency != kind->median) return;
    found.insert(fmt::format(R"(the {} of {} is nominal: {}; sweep /cluster/{}/efficiency over ["low", "median", "high"] for the range)",
                             link, cluster.name, describe(*kind), link));
  };
  if (cluster.nodes > 1) note(cluster.link_kind, cluster.link_efficiency, "link");
  if (cluster.gpus_per_node > 1) note(cluster.intra_kind, cluster.intra_efficiency, "intra_node");
  return found;
}

void note_inputs(const Scenario& scenario, std::set<std::string>& found) {
  found.insert(scenario.schedule.note);
  if (scenario.schedule.note_on) found.insert(scenario.schedule.note_on(step_profile(*scenario.trace, scenario.granularity)));
  constexpr Rate slowest_plausible(1e5);
  constexpr Seconds longest_plausible(5.0);
  const Cluster& cluster = scenario.cluster;
  if (scenario.schedule.traffic.has_collectives()) {
    const auto carried = [](const auto& row) {
      return std::any_of(row.second.begin(), row.second.end(), [](const Fit& fit) { return fit.carried; });
    };
    if (std::any_of(cluster.fits.begin(), cluster.fits.end(), carried)) {
      found.insert(
          fmt::format("collectives on {} cost what its fit says, carried from the link that it was measured at to another one: not "
                      "measured there",
                      cluster.name));
    } else if (cluster.is_fitted()) {
      found.insert(fmt::format("collectives on {} cost what its fit says for the link that it was measured at", cluster.name));
    }
  } else if (cluster.latency_cv > 0.0) {
    found.insert(fmt::format("latency_cv of {} does not matter to {}, which has no all-reduces", cluster.name, scenario.schedule.name));
  }
  found.merge(note_nominal(cluster));
  found.insert(note_equal_clients(scenario));
  found.insert(note_rates(scenario));
  if (cluster.link.bandwidth < slowest_plausible) {
    found.insert(
        fmt::format("the link of {} carries only {} bytes/s; for 10 Gb/s write \"10Gbps\"", cluster.name, cluster.link.bandwidth.value));
  }
  if (cluster.link.latency > longest_plausible) {
    found.insert(fmt::format("the link of {} has a latency of {} s; for 50 us write \"50us\"", cluster.name, cluster.link.latency.value));
  }
}

/// What the figures of a point do not show.
void note_outcome(const Row& row, std::set<std::string>& found) {
  if (row.details.contains("fidelity_note")) {
    found.insert(fmt::format("point {} ({}): {}", row.point, row.schedule, row.details["fidelity_note"].get<std::string>()));
  }
  if (const auto order = row.details.value("region_order", std::vector<std::string>()); !order.empty() && row.all_reduces) {
    found.insert(fmt::format("the ring passes through the regions of {} in the order {}", row.cluster, fmt::join(order, ", ")));
  }
  if (row.details.contains("backlog_growth")) {
    found.insert(
        fmt::format("point {} ({}): collectives queue up faster than they move, by {} s in every second, so that a longer warm-up "
                    "would show longer iterations; raise /iterations/warmup until this note goes",
                    row.point, row.schedule, rounded(row.details["backlog_growth"].get<double>(), 2)));
  }
  if (row.details.contains("steps")) {
    found.insert(fmt::format(
        "point {} ({}): {:.2g} gradient steps were simulated where {:.2g} were expected, so that estimates of its time "
        "and memory are as wrong",
        row.point, row.schedule, row.details["steps"]["simulated"].get<double>(), row.details["steps"]["expected"].get<double>()));
  }
  const Json events = row.details.value("events_outside_window", Json::array());
  for (const Json& event : events) {
    const auto count = event["count"].get<int>();
    found.insert(fmt::format("point {} ({}): the {} at {:.6g} s lies outside the measured window, {:.6g} to {:.6g} s{}", row.point,
                             row.schedule, event["what"].get<std::string>(), event["at_s"].get<double>(),
                             event["window_open_s"].get<double>(), event["window_close_s"].get<double>(),
                             count == 1 ? "" : fmt::format(", as do {} later values", count - 1)));
  }
  for (const Json& job : row.details.value("jobs_meet_other_events", Json::array())) {
    found.insert(
        fmt::format("point {}: alone, {}'s window meets other events than beside the others, so that its slowdown compares unlike "
                    "times; measure more iterations, until all events lie in both",
                    row.point, job.get<std::string>()));
  }
}

/// Of points whose all-reduces are mostly latency, the one for which another algorithm gains most.
std::string note_latency(const std::vector<Row>& rows) {
  const auto gain = [](const Row& row) {
    if (!row.details.contains("latency_bound")) return 0.0;
    const Json& bound = row.details["latency_bound"];
    return bound["own_s"].get<double>() / bound["auto_s"].get<double>();
  };
  const auto most = std::max_element(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return gain(a) < gain(b); });
  if (most == rows.end() || gain(*most) == 0.0) return "";
  const Json& bound = most->details["latency_bound"];
  const auto count = std::count_if(rows.begin(), rows.end(), [&](const Row& row) { return gain(row) > 0.0; });
  return fmt::format(
      "latency is most of what all-reduces take at {} point{}, such as {} ({}): {:.0f}% of a mean one by {} over {} nodes, {}; "
      "\"all_reduce\": \"auto\" takes {}",
      count, count == 1 ? "" : "s", most->point, most->schedule, 100.0 * bound["latency_share"].get<double>(), most->all_reduce,
      most->nodes, format_seconds(Seconds(bound["own_s"].get<double>())), format_seconds(Seconds(bound["auto_s"].get<double>())));
}

}  // namespace

std::string results_csv(const Results& results) {
  std::string text;
  const auto line = [&text](const std::vector<std::string>& cells) { text += fmt::format("{}\n", fmt::join(cells, ",")); };
  std::vector<std::string> header;
  for (const Figure& figure : figures()) {
    header.emplace_back(figure.name);
    if (figure.name != "point" || results.rows.empty()) continue;
    for (const auto& [pointer, value] : results.rows.front().sweep) header.push_back(csv_cell(pointer));
  }
  line(header);
  for (const Row& row : results.rows) {
    std::vector<std::string> cells;
    for (const Figure& figure : figures()) {
      cells.push_back(csv_value(figure.value(row)));
      if (figure.name != "point") continue;
      for (const auto& [pointer, value] : row.sweep) cells.push_back(csv_value(value));
    }
    line(cells);
  }
  return text;
}

Estimates estimates_of(const Study& study) {
  Estimates found;
  for (const Point& point : study.points) {
    for (const Scenario* training : point.scenario.trainings()) {
      for (const Trace* trace : training->traces()) {
        if (trace->provenance.synthetic()) found.traces.insert(std::filesystem::path(trace->file).stem().string());
      }
      std::set<std::string> notes = note_nominal(training->cluster);
      if (!notes.empty()) found.clusters.insert(training->cluster.name);
      found.notes.merge(notes);
    }
  }
  return found;
}

std::vector<std::string> notes(const Study& study, const std::vector<Row>& rows) {
  std::set<std::string> found;
  for (const Point& point : study.points) {
    for (const Scenario* training : point.scenario.trainings()) note_inputs(*training, found);
  }
  found.insert(note_latency(rows));
  for (const Row& row : rows) {
    note_outcome(row, found);
    if (row.fidelity == Fidelity::alpha_beta && row.all_reduces && row.nodes > 1)
      found.emplace(study.points[at(row.point)].scenario.all_reduce.algorithm->caveat);
  }
  const auto is_close_to_ideal = [&](const Row& row) {
    constexpr double high = 0.95;
    const Scenario& scenario = study.points[at(row.point)].scenario;
    return row.workers > 1 && row.metrics.efficiency > high && scenario.speed.uniform() && !scenario.jobs;
  };
  if (std::any_of(rows.begin(), rows.end(), is_close_to_ideal)) {
    found.emplace(
        "above 95% efficiency: real jobs lose a few percent more to GPUs that are not equally fast (a jitter of 2% shows it), to input "
        "pipelines, and to frameworks that launch collectives slowly (a cluster's \"host\")");
  }
  found.merge(notes_of_uncertainty(study, rows));
  found.erase("");
  return {found.begin(), found.end()};
}

Json results_json(const Results& results, const Study& study) {
  Json json = {{"format", "results/1"},
               {"scenario_file", file_name(study.file)},
               {"scenario", study.document},
               {"settings", Json::object()},
               {"versions", {{"syncopate", version()}, {"simgrid", results.simgrid_version}}},
               {"seed", study.seed},
               {"traces", Json::array()},
               {"points_total", study.points.size()},
               {"answer", answer(results.rows, study)},
               {"notes", notes(study, results.rows)},
               {"failed", Json::array()},
               {"points", Json::array()}};
  for (const Setting& setting : study.settings) json["settings"][setting.pointer] = setting.value;
  std::set<const Trace*> seen;
  for (const Point& point : study.points) {
    for (const Scenario* training : point.scenario.trainings()) {
      for (const Trace* trace : training->traces()) {
        if (seen.insert(trace).second) json["traces"].push_back(trace_summary(*trace));
      }
    }
  }
  for (const FailedPoint& failed : results.failed) json["failed"].push_back({{"point", failed.point}, {"error", failed.error}});
  for (const Row& row : results.rows) json["points"].push_back(to_json(row));
  return json;
}

}  // namespace syncopate
