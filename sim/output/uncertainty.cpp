#include "output/uncertainty.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/indexed.hpp"
#include "base/text.hpp"
#include "metrics/confidence.hpp"
#include "metrics/metrics.hpp"
#include "output/contest.hpp"

namespace syncopate {

namespace {

const Scenario& scenario_of(const Study& study, const Row& row) { return study.points[at(row.point)].scenario; }

/// The half-width that is good enough: as the scenario says, or 1%.
double wanted_of(const Scenario& scenario) {
  constexpr double usual = 0.01;
  return scenario.until.value_or(usual);
}

std::string as_percent(double share) { return rounded(100.0 * share, 2) + "%"; }

std::string point_of(const Row& row) { return fmt::format("point {} ({})", row.point, row.schedule); }

std::string plural(std::size_t count, const char* what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); }

bool has_missed_until(const Row& row) { return row.details.contains("until_missed"); }

std::string note_until_missed(const Row& row) {
  const Json& known = row.details["until_missed"];
  const std::string how_well =
      known.is_null() ? "do not tell the mean" : fmt::format("tell the mean to {} only", as_percent(known.get<double>()));
  return fmt::format("{}: {} iterations{} {}, and {}", point_of(row), row.measured_iterations,
                     row.replicates.empty() ? "" : " of a replicate", how_well, row.details["until_missed_because"].get<std::string>());
}

/// At least `number`, of two digits: it is an estimate.
double round_up(double number) {
  const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(number)) - 1.0));
  return std::ceil(number / unit) * unit;
}

/// What would make the mean of a row known as well as its scenario wants.
std::string advice(const Row& row, const Scenario& scenario) {
  const double wanted = wanted_of(scenario);
  if (!row.replicates.empty()) {
    const auto needed = values_needed(row.half_width(), static_cast<int>(row.replicates.size()), wanted, most_replicates);
    if (!needed)
      return fmt::format("over {} replicates, the most that there may be, would be needed; measure more iterations in each",
                         most_replicates);
    return fmt::format("some {:.0f} replicates would do", std::min<double>(most_replicates, round_up(*needed)));
  }
  if (scenario.jobs)  // the window is as long as the slowest job's
    return fmt::format("\"iterations\": {{\"until\": {}}} measures as many iterations as that takes", wanted);
  const int slices = slices_of(row.measured_iterations / scenario.schedule.pace.cycle);
  const double each = static_cast<double>(row.measured_iterations) / slices;
  const auto needed = values_needed(row.half_width(), slices, wanted, static_cast<int>(scenario.most_until() / each));
  if (!needed)
    return fmt::format("over {} iterations, the most that \"until\" measures, would be needed; take replicates", scenario.most_until());
  return fmt::format("some {:.0f} iterations would do, which \"iterations\": {{\"until\": {}}} finds, or replicates",
                     round_up(*needed * each), wanted);
}

/// "theirs of " where a point has jobs, of which this one's mean is known least.
std::string least_known_job(const Row& row) {
  const auto less = [](const JobRow& a, const JobRow& b) { return a.iteration_half.value_or(0.0) < b.iteration_half.value_or(0.0); };
  const auto job = std::max_element(row.jobs.begin(), row.jobs.end(), less);
  return job == row.jobs.end() ? "" : job->name + " of ";
}

/// Of the point whose mean is known least.
std::string note_uncertain(const Study& study, const std::vector<Row>& rows) {
  const auto excess = [&](const Row& row) { return row.widest_half() / wanted_of(scenario_of(study, row)); };
  const auto is_uncertain = [&](const Row& row) { return excess(row) > 1.0 && (!has_missed_until(row) || !row.replicates.empty()); };
  const auto count = static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), is_uncertain));
  if (count == 0) return "";
  const auto weight = [&](const Row& row) { return is_uncertain(row) ? excess(row) : 0.0; };
  const Row& worst = *std::max_element(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return weight(a) < weight(b); });
  const Scenario& scenario = scenario_of(study, worst);
  return fmt::format("the mean of {} is known to no better than {}, that of {}{} to {}: {}", plural(count, "point"),
                     as_percent(wanted_of(scenario)), least_known_job(worst), point_of(worst), as_percent(worst.widest_half()),
                     advice(worst, scenario));
}

/// Of samples whose mean nobody knows how well.
std::string note_unsure(const Study& study, const std::vector<Row>& rows) {
  const auto is_unsure = [](const Row& row) { return row.is_unsure(); };
  const auto found = std::find_if(rows.begin(), rows.end(), is_unsure);
  if (found == rows.end()) return "";
  const auto count = static_cast<std::size_t>(std::count_if(found, rows.end(), is_unsure));
  const bool draws = scenario_of(study, *found).draws();
  return fmt::format("how sure the mean of {}, such as {}, is cannot be told from {}; leave \"measured\" out, or measure more{}",
                     plural(count, "point"), point_of(*found), plural(at(found->measured_iterations), "measured iteration"),
                     draws ? ", or use replicates" : "");
}

/// Of rivals whose windows meet other events.
std::string note_unlike_events(const Study& study, const std::vector<Row>& rows) {
  if (rows.empty()) return "";
  for (const Contest& contest : contests_of(rows, study)) {
    const Row& fastest = contest.fastest();
    const auto other = std::find_if(contest.ranked.begin(), contest.ranked.end(),
                                    [&](const Row* row) { return row->missed_events() != fastest.missed_events(); });
    if (other == contest.ranked.end()) continue;
    return fmt::format(
        "{} and {}: their windows meet other events, so that their means are not compared; measure more iterations, or "
        "fewer of warm-up, until all events lie in all windows",
        point_of(fastest), point_of(**other));
  }
  return "";
}

/// Of a sweep over seeds.
std::string note_seeds(const Study& study) {
  const auto& sweep = study.points.front().sweep;
  if (std::none_of(sweep.begin(), sweep.end(), [](const auto& swept) { return swept.first == "/seed"; })) return "";
  std::set<std::uint64_t> seeds;
  int replicates = 1;
  for (const Point& point : study.points) {
    seeds.insert(point.scenario.speed.seed);
    if (point.scenario.draws()) replicates = std::max(replicates, point.scenario.replicates);
  }
  const auto overlap = std::adjacent_find(seeds.begin(), seeds.end(),
                                          [&](std::uint64_t a, std::uint64_t b) { return b - a < static_cast<std::uint64_t>(replicates); });
  if (overlap != seeds.end()) {
    return fmt::format(
        "{} replicates of /seed {} and of /seed {} share seeds, so that these points are not independent; sweep seeds that are {} apart, "
        "or none",
        replicates, *overlap, *std::next(overlap), replicates);
  }
  return "each /seed is a setting with a winner of its own; \"replicates\" takes the mean over seeds";
}

}  // namespace

std::set<std::string> notes_of_uncertainty(const Study& study, const std::vector<Row>& rows) {
  std::set<std::string> found = {note_uncertain(study, rows), note_unsure(study, rows), note_unlike_events(study, rows), note_seeds(study)};
  for (const Row& row : rows) {
    if (has_missed_until(row)) found.insert(note_until_missed(row));
  }
  return found;
}

}  // namespace syncopate
