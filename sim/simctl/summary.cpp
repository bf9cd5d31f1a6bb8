#include "simctl/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "simctl/table.hpp"

namespace syncopate {

namespace {

using Cells = std::vector<std::string>;

std::string percent(double share) { return fmt::format("{:.1f}%", 100.0 * share); }

std::string figures(const Row& row) {
  const Metrics& m = row.metrics;
  const auto line = [](const char* what, const std::string& value) { return fmt::format("  {:<28}{}\n", what, value); };
  const auto part = [&m](Seconds time) { return fmt::format("{} ({})", format_seconds(time), percent(time / m.iteration)); };
  return fmt::format("{} on {} x {}, {}:\n", row.schedule, row.nodes, row.cluster, row.all_reduce) +
         line("iteration", fmt::format("{} (median {}, 95% {})", format_seconds(m.iteration), format_seconds(m.iteration_p50),
                                       format_seconds(m.iteration_p95))) +
         line("compute", part(m.compute)) + line("wait", part(m.wait)) + line("exposed communication", part(m.exposed_communication)) +
         line("communications/iteration", fmt::format("{:.4g}", m.communications_per_iteration)) +
         line("throughput", fmt::format("{:.5g} samples/s", m.throughput)) +
         line("speedup", fmt::format("{:.4g} on {} workers (efficiency {})", m.speedup, row.workers, percent(m.efficiency)));
}

std::string one_key(const std::vector<Row>& rows) {
  std::vector<Cells> table = {
      {rows.front().sweep.front().first, "iteration", "compute", "wait", "exposed", "comms/iter", "speedup", "efficiency"}};
  for (const Row& row : rows) {
    const Metrics& m = row.metrics;
    table.push_back({value_label(row.sweep.front().second), format_seconds(m.iteration), format_seconds(m.compute), format_seconds(m.wait),
                     format_seconds(m.exposed_communication), fmt::format("{:.4g}", m.communications_per_iteration),
                     fmt::format("{:.4g}", m.speedup), percent(m.efficiency)});
  }
  return format_table(table);
}

std::string several_keys(const std::vector<Row>& rows, const std::string& title, std::string (*show)(const Row&)) {
  // In the order in which values first appear; a row may be incomplete when points failed.
  std::vector<std::string> columns;
  std::vector<Cells> keys;
  std::map<std::pair<Cells, std::string>, const Row*> cells;
  for (const Row& row : rows) {
    Cells key;
    for (std::size_t i = 0; i + 1 < row.sweep.size(); ++i) key.push_back(value_label(row.sweep[i].second));
    const std::string column = value_label(row.sweep.back().second);
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
    if (keys.empty() || keys.back() != key) keys.push_back(key);
    cells[{key, column}] = &row;
  }
  Cells header;
  for (std::size_t i = 0; i + 1 < rows.front().sweep.size(); ++i) header.push_back(rows.front().sweep[i].first);
  header.insert(header.end(), columns.begin(), columns.end());
  std::vector<Cells> table = {header};
  for (const Cells& key : keys) {
    double best = 0.0;
    for (const std::string& column : columns) {
      const auto found = cells.find({key, column});
      if (found != cells.end()) best = std::max(best, found->second->metrics.throughput);
    }
    Cells line = key;
    for (const std::string& column : columns) {
      const auto found = cells.find({key, column});
      const bool fastest = found != cells.end() && found->second->metrics.throughput >= best * (1.0 - 1e-9);
      line.push_back(found == cells.end() ? "-" : fmt::format("{}{}", fastest ? "*" : "", show(*found->second)));
    }
    table.push_back(line);
  }
  return title + '\n' + format_table(table);
}

}  // namespace

std::string describe_study(const Study& study) {
  std::string text = fmt::format("{}: {} point{}\n", study.name, study.points.size(), study.points.size() == 1 ? "" : "s");
  std::set<const Trace*> seen;
  for (const Point& point : study.points) {
    const Trace& trace = *point.scenario.trace;
    if (!seen.insert(&trace).second) continue;
    text += fmt::format("trace {}: {}, batch {}, {}{}\n", trace.file, trace.model, trace.batch,
                        trace.device.empty() ? "unknown device" : trace.device,
                        trace.provenance.synthetic() ? "; SYNTHETIC, not measured" : fmt::format(" ({})", trace.provenance.kind));
  }
  return text;
}

std::string summarise(const std::vector<Row>& rows) {
  if (rows.empty()) return {};
  const std::set<std::string> fidelities = [&] {
    std::set<std::string> names;
    for (const Row& row : rows) names.insert(row.fidelity);
    return names;
  }();
  const std::string fidelity = fmt::format("fidelity: {}\n", fmt::join(fidelities, ", "));
  const std::size_t swept = rows.front().sweep.size();
  if (swept == 0) return figures(rows.front()) + fidelity;
  if (swept == 1) return one_key(rows) + fidelity;
  const auto iteration = [](const Row& row) { return format_seconds(row.metrics.iteration); };
  const auto efficiency = [](const Row& row) { return percent(row.metrics.efficiency); };
  return several_keys(rows, "iteration time (* highest throughput of the row)", iteration) + '\n' +
         several_keys(rows, "efficiency", efficiency) + '\n' + fidelity;
}

}  // namespace syncopate
