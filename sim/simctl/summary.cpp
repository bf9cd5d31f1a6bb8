#include "simctl/summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/errors.hpp"
#include "base/indexed.hpp"
#include "base/project_files.hpp"
#include "base/table.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "output/answer.hpp"
#include "output/row_names.hpp"
#include "output/standing.hpp"
#include "simctl/caveats.hpp"

namespace syncopate {

namespace {

using Texts = std::vector<std::string>;

/// "1: 12.3%, 2: 87.7%". Empty if the schedule does not mix steps.
std::string local_steps(const Row& row) {
  std::string text;
  const Json shares = row.details.value("local_steps_per_all_reduce", Json::object());
  for (const auto& [steps, share] : shares.items()) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", steps, percent(share));
  }
  return text;
}

std::string interval(const Row& row) {
  if (row.is_unsure()) return "unknown: too few iterations";
  const std::string source = row.replicates.empty() ? "" : fmt::format(", from {} replicates", row.replicates.size());
  return fmt::format("{} to {}{}", format_seconds(row.interval->start), format_seconds(row.interval->end), source);
}

std::string hours(const Row& row) { return fmt::format("{} h", rounded(*row.total / Seconds(3600.0), 4)); }

std::string effective_time(const Row& row) { return row.goodput ? percent(row.goodput->effective_time_ratio) : "-"; }

bool has_any_run(const std::vector<Row>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.goodput.has_value(); });
}

/// Where the time of a long run goes: "checkpoints 3.5%, lost work 3.6%, ...".
std::string other_time(const Goodput& goodput) {
  return fmt::format("checkpoints {}, lost work {}, detection {}, restarts {}, fewer nodes {}", percent(goodput.checkpoint_share),
                     percent(goodput.lost_share), percent(goodput.detection_share), percent(goodput.restart_share),
                     percent(goodput.degraded_share));
}

/// Over the faster to the slower of usual networks; empty if unknown.
std::string usual_range(const Row& row) {
  if (!row.iteration_fast || !row.iteration_slow) return "";
  return fmt::format("{} to {}", format_seconds(*row.iteration_fast), format_seconds(*row.iteration_slow));
}

bool has_any_range(const std::vector<Row>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const Row& row) { return !usual_range(row).empty(); });
}

std::string figures(const Row& row) {
  const Metrics& m = row.metrics;
  const auto line = [](const char* what, const std::string& value) { return fmt::format("  {:<28}{}\n", what, value); };
  const auto part = [&m](Seconds time) { return fmt::format("{} ({})", format_seconds(time), percent(time / m.iteration)); };
  return fmt::format("{} on {} x {}{}:\n", row.schedule, row.nodes, row.cluster, row.all_reduces ? ", " + row.all_reduce : "") +
         line("iteration", fmt::format("{} (median {}, 95% {})", format_seconds(m.iteration), format_seconds(m.iteration_p50),
                                       format_seconds(m.iteration_p95))) +
         (usual_range(row).empty() ? "" : line("usual networks", usual_range(row))) +
         (row.is_sample ? line("95% interval of its mean", interval(row)) : "") + line("compute", part(m.compute)) +
         line("wait", part(m.wait)) + line("exposed communication", part(m.exposed_communication)) +
         line("communications/iteration", rounded(m.communications_per_iteration, 4)) +
         line("throughput", fmt::format("{} samples/s", rounded(m.throughput, 5))) +
         line("speedup", fmt::format("{} on {} workers (efficiency {})", rounded(m.speedup, 4), row.workers, percent(m.efficiency))) +
         (m.staleness_max == 0.0
              ? ""
              : line("staleness", fmt::format("{} steps, at most {}", rounded(m.staleness_mean, 4), rounded(m.staleness_max, 4)))) +
         (local_steps(row).empty() ? "" : line("local steps per all-reduce", local_steps(row))) +
         (!row.goodput ? ""
                       : line("run", fmt::format("{}, {} failures", hours(row), rounded(row.goodput->failures, 3))) +
                             line("effective time", effective_time(row)) + line("the rest", other_time(*row.goodput)));
}

bool is_any_stale(const std::vector<Row>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.metrics.staleness_max > 0.0; });
}

/// A line per point: the swept values, then figures.
std::string point_by_point(const std::vector<Row>& rows) {
  const bool stale = is_any_stale(rows);
  std::vector<Cells> table(1);
  for (const auto& [pointer, value] : rows.front().sweep) table.front().emplace_back(pointer);
  const bool uncertain = std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.is_sample; });
  table.front().emplace_back("iteration");
  if (uncertain) table.front().emplace_back("+- (95%)");
  const bool ranges = has_any_range(rows);
  if (ranges) table.front().emplace_back("usual networks");
  const bool runs = has_any_run(rows);
  if (runs) table.front().insert(table.front().end(), {"run", "effective"});
  const Cells titles = {"compute", "wait", "exposed", "comms/iter", "speedup", "efficiency"};
  table.front().insert(table.front().end(), titles.begin(), titles.end());
  if (stale) table.front().emplace_back("staleness");
  for (const Row& row : rows) {
    const Metrics& m = row.metrics;
    Cells line;
    for (const auto& [pointer, value] : row.sweep) line.emplace_back(value_label(value));
    line.emplace_back(m.iteration);
    if (uncertain) line.emplace_back(row.interval ? percent(row.half_width()) : row.is_sample ? "?" : "");
    if (ranges) line.emplace_back(usual_range(row));
    if (runs) line.insert(line.end(), {row.goodput ? hours(row) : "-", effective_time(row)});
    const Cells figures = {m.compute,
                           m.wait,
                           m.exposed_communication,
                           rounded(m.communications_per_iteration, 4),
                           rounded(m.speedup, 4),
                           percent(m.efficiency)};
    line.insert(line.end(), figures.begin(), figures.end());
    if (stale) line.emplace_back(rounded(m.staleness_mean, 3));
    table.push_back(line);
  }
  return format_table(table,
                      {.expendable = {"comms/iter", "staleness", "wait", "compute", "usual networks", "speedup", "exposed", "+- (95%)"},
                       .elsewhere = "results.csv has all of it (-o DIR)"});
}

/// A line per point and job.
std::string job_by_job(const std::vector<Row>& rows) {
  std::vector<Cells> table(1);
  for (const auto& [pointer, value] : rows.front().sweep) table.front().emplace_back(pointer);
  const auto is_known = [](const JobRow& job) { return job.iteration_half.has_value(); };
  const bool uncertain =
      std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return std::any_of(row.jobs.begin(), row.jobs.end(), is_known); });
  table.front().insert(table.front().end(), {"job", "schedule", "nodes", "iteration"});
  if (uncertain) table.front().emplace_back("+- (95%)");
  table.front().insert(table.front().end(), {"alone", "slowdown", "Jain", "busiest shared link"});
  for (const Row& row : rows) {
    const Json links = row.details.value("shared_links", Json::array());
    const std::string busiest =
        links.empty() ? "none" : fmt::format("{}: {}", links[0]["name"].get<std::string>(), percent(links[0]["utilisation"].get<double>()));
    for (const JobRow& job : row.jobs) {
      Cells line;
      for (const auto& [pointer, value] : row.sweep) line.emplace_back(value_label(value));
      line.insert(line.end(), {job.name, job.schedule, format_ranges(job.nodes), job.iteration});
      if (uncertain) line.emplace_back(job.iteration_half ? percent(*job.iteration_half) : "");
      line.insert(line.end(), {job.alone, rounded(job.slowdown(), 4), rounded(row.jain(), 4), busiest});
      table.push_back(line);
    }
  }
  return format_table(
      table, {.expendable = {"busiest shared link", "schedule", "nodes", "+- (95%)"}, .elsewhere = "results.json has all of it (-o DIR)"});
}

/// The swept key whose values become columns: the schedule, else the collective, else the last one.
std::size_t column_key(const Row& row) {
  for (const char* choice : {"/schedule", "/all_reduce"}) {
    for (std::size_t i = 0; i < row.sweep.size(); ++i) {
      if (is_at_or_above(choice, row.sweep[i].first)) return i;
    }
  }
  return row.sweep.size() - 1;
}

/// A line per setting and a column per choice.
class Grid {
 public:
  explicit Grid(const std::vector<Row>& rows)
      : column_(column_key(rows.front())), header_(keys_of(rows.front(), true)), key_(rows.front().sweep[column_].first) {
    // In order of first appearance. A line is incomplete if points failed.
    std::set<std::string> seen_columns;
    std::set<Texts> seen_lines;
    for (const Row& row : rows) {
      const Texts line = keys_of(row, false);
      const std::string column = value_label(row.sweep[column_].second);
      if (seen_columns.insert(column).second) columns_.push_back(column);
      if (seen_lines.insert(line).second) lines_.push_back(line);
      cells_[{line, column}] = &row;
    }
    compares_ = is_at_or_above("/schedule", key_) || is_at_or_above("/all_reduce", key_);
  }

  std::size_t columns() const { return columns_.size(); }

  /// The swept key of the columns, unless the table is transposed.
  std::string heading() const { return is_wide() ? "" : fmt::format(", by {}", key_); }

  /// Whether the columns are alternatives; the fastest of a line is marked *.
  bool compares() const { return compares_; }

  /// `mark`: mark the fastest of each line with *, if compares().
  std::string format(Cell (*show)(const Row&), bool mark = true) const {
    std::vector<Cells> table = {Cells(header_.begin(), header_.end())};
    table.front().insert(table.front().end(), columns_.begin(), columns_.end());
    for (const Texts& line : lines_) {
      const Row* best = nullptr;
      for (const std::string& column : columns_) {
        const Row* row = find(line, column);
        if (row != nullptr && (best == nullptr || row->metrics.iteration < best->metrics.iteration)) best = row;
      }
      table.emplace_back(line.begin(), line.end());
      for (const std::string& column : columns_) {
        const Row* row = find(line, column);
        const bool marked = mark && compares_ && row != nullptr && best != nullptr && standing(*row, *best) != Standing::slower;
        table.back().push_back(row == nullptr ? Cell("-") : marked ? show(*row).between("*", with_staleness("", *row)) : show(*row));
      }
    }
    return format_table(is_wide() ? turned(table) : table);
  }

 private:
  Texts keys_of(const Row& row, bool names) const {
    Texts keys;
    for (std::size_t i = 0; i < row.sweep.size(); ++i) {
      if (i != column_) keys.push_back(names ? row.sweep[i].first : value_label(row.sweep[i].second));
    }
    return keys;
  }

  /// Whether the columns are too wide for the screen, as names of schedules with parameters are.
  bool is_wide() const {
    constexpr std::size_t usual_screen = 140;
    constexpr std::size_t figure = 9;
    std::size_t width = 0;
    for (const std::string& column : columns_) width += std::max(column.size(), figure) + 2;
    return width > stdout_width().value_or(usual_screen) && header_.size() == 1;
  }

  static std::vector<Cells> turned(const std::vector<Cells>& table) {
    std::vector<Cells> result(table.front().size());
    for (const Cells& line : table) {
      for (std::size_t i = 0; i < line.size(); ++i) result[i].push_back(line[i]);
    }
    return result;
  }

  const Row* find(const Texts& line, const std::string& column) const {
    const auto found = cells_.find({line, column});
    return found == cells_.end() ? nullptr : found->second;
  }

  std::size_t column_;
  Texts header_;
  std::string key_;
  Texts columns_;
  std::vector<Texts> lines_;
  std::map<std::pair<Texts, std::string>, const Row*> cells_;
  bool compares_ = false;
};

}  // namespace

std::string swept_values(const Point& point, const char* separator) {
  std::vector<std::string> values;
  values.reserve(point.sweep.size());
  for (const auto& [pointer, value] : point.sweep) values.push_back(fmt::format("{}={}", pointer, value_label(value)));
  return fmt::format("{}", fmt::join(values, separator));
}

const Point& chosen_point(const Study& study, const std::string& scenario, const char* option, const std::optional<std::string>& number) {
  const int count = static_cast<int>(study.points.size());
  if (!number && count == 1) return study.points.front();
  const auto points = parse_ranges(number.value_or(""), count - 1);
  if (points && points->size() == 1) return study.points[at(points->front())];
  constexpr int most_listed = 20;
  std::string list;
  for (int i = 0; i < std::min(count, most_listed); ++i) {
    list += fmt::format("{}{} is {}", i == 0 ? " " : ", ", i, swept_values(study.points[at(i)], " "));
  }
  if (count > most_listed) list += ", ...";
  throw UsageError(
      !number ? fmt::format("{}: the scenario has {} points; say which one with {} 0 to {}:{}", scenario, count, option, count - 1, list)
              : fmt::format("{} {}: expected a point from 0 to {}:{}", option, *number, count - 1, list));
}

namespace {

/// At a terminal, what is estimated is said once a day.
bool is_brief() { return stdout_width().has_value(); }

/// A line about a trace. Empty if the trace has been seen before.
std::string describe_trace(const Trace& trace, std::set<const Trace*>& seen) {
  if (!seen.insert(&trace).second) return "";
  const bool is_loud = trace.provenance.synthetic() && !is_brief();
  std::string text = fmt::format("trace {}: {}, batch {}, {}{}{}\n", trace.file, trace.model, trace.batch,
                                 trace.device.empty() ? "unknown device" : trace.device,
                                 trace.factor == 1.0 ? "" : fmt::format(", times x {}", rounded(trace.factor, 4)),
                                 is_loud ? "; SYNTHETIC, not measured" : fmt::format(" ({})", trace.provenance.kind));
  if (is_loud && !trace.provenance.note.empty()) text += fmt::format("  {}\n", trace.provenance.note);
  return text;
}

}  // namespace

std::string describe_study(const Study& study) {
  std::string text = fmt::format("{}: {} point{}\n", study.name, study.points.size(), study.points.size() == 1 ? "" : "s");
  std::set<const Trace*> seen;
  for (const Point& point : study.points) {
    for (const Scenario* training : point.scenario.trainings()) {
      for (const Trace* trace : training->traces()) text += describe_trace(*trace, seen);
    }
  }
  for (const Setting& setting : study.settings) text += fmt::format("set {} = {}\n", printable(setting.pointer), excerpt(setting.value));
  if (is_brief()) text += caveat_of_today(estimates_of(study));
  return text;
}

std::string summarise(const std::vector<Row>& rows, const Study& study) {
  if (rows.empty()) return {};
  const std::set<std::string> shown = [&] {
    std::set<std::string> names;
    for (const Row& row : rows) names.emplace(to_string(row.fidelity));
    return names;
  }();
  const std::string fidelity = fmt::format("fidelity: {}\n", fmt::join(shown, ", "));
  if (!rows.front().jobs.empty()) return job_by_job(rows) + fidelity;
  const std::size_t swept = rows.front().sweep.size();
  if (swept == 0) return figures(rows.front()) + fidelity;
  if (swept == 1) return point_by_point(rows) + fidelity;
  const auto iteration = [](const Row& row) { return Cell(row.metrics.iteration); };
  const auto efficiency = [](const Row& row) { return Cell(percent(row.metrics.efficiency)); };
  const auto staleness = [](const Row& row) { return Cell(rounded(row.metrics.staleness_mean, 3)); };
  constexpr std::size_t widest = 12;
  const Grid grid(rows);
  if (grid.columns() > widest) return point_by_point(rows) + fidelity;
  const std::string heading = grid.heading();
  const char* const missing = rows.size() < study.points.size() ? " of those that are there" : "";
  const std::string mark =
      grid.compares() ? fmt::format(" (* fastest{}, within 0.5% of it, or not to be told apart from it)", missing) : "";
  std::string text =
      fmt::format("iteration time{}{}\n{}\nefficiency{}\n{}\n", heading, mark, grid.format(iteration), heading, grid.format(efficiency));
  if (has_any_range(rows)) {
    const auto fast = [](const Row& row) { return row.iteration_fast ? Cell(*row.iteration_fast) : Cell(""); };
    const auto slow = [](const Row& row) { return row.iteration_slow ? Cell(*row.iteration_slow) : Cell(""); };
    text += fmt::format("iteration time over the faster of usual networks{}\n{}\n", heading, grid.format(fast, false));
    text += fmt::format("iteration time over the slower of usual networks{}\n{}\n", heading, grid.format(slow, false));
  }
  if (has_any_run(rows))
    text += fmt::format("effective time of the run{}\n{}\n", heading,
                        grid.format([](const Row& row) { return Cell(effective_time(row)); }, false));
  if (is_any_stale(rows)) text += fmt::format("staleness{} (steps)\n{}\n", heading, grid.format(staleness, false));
  return text + fidelity;
}

void print_study(const Results& results, const Study& study) {
  display("{}\n{}", describe_study(study), summarise(results.rows, study));
  for (const std::string& sentence : answer(results.rows, study)) display("{}\n", sentence);
  const std::set<std::string> said = is_brief() ? estimates_of(study).notes : std::set<std::string>();
  for (const std::string& note : notes(study, results.rows)) {
    if (!said.contains(note)) display("note: {}\n", printable(note));
  }
}

void print_where(const std::string& folder) {
  display("results: {}/results.csv\n", folder);
  const auto program = command_of_page("report");
  if (program) display("for a page: {}\n", command_line({*program, folder, "-o", folder + "/report.html"}));
}

}  // namespace syncopate
