#include "output/answer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "base/text.hpp"
#include "output/contest.hpp"
#include "output/row_names.hpp"
#include "output/swept_effects.hpp"

namespace syncopate {

namespace {

constexpr double noticeable = 0.05;  ///< a share of an iteration
constexpr std::string_view too_few = "too few iterations to say how sure";

std::string whole_percent(double share) { return percent(share, 0); }

std::string time_of(const Row& row) {
  const std::string iteration = format_seconds(row.metrics.iteration);
  return row.half_width() > 0.0 ? fmt::format("{} ± {}%", iteration, rounded(100.0 * row.half_width(), 2)) : iteration;
}

std::string what_holds_back(const Row& row) {
  const Metrics& m = row.metrics;
  const double exposed = m.exposed_communication / m.iteration;
  const double wait = m.wait / m.iteration;
  std::vector<std::string> parts;
  if (exposed >= noticeable) parts.push_back(whole_percent(exposed) + " of it is communication that nothing hides");
  if (wait >= noticeable) parts.push_back(whole_percent(wait) + " waiting for others or slower than usual");
  if (parts.empty())
    return fmt::format("nothing holds it back: {} of it is compute", whole_percent(std::min(1.0, m.compute / m.iteration)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 4;
  if (names.size() == 1) return names.front();
  if (names.size() > most) return fmt::format("{} and {} others", names.front(), names.size() - 1);
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

std::string names_of(const std::vector<const Row*>& rows) {
  std::vector<std::string> names;
  names.reserve(rows.size());
  for (const Row* row : rows) names.push_back(name_of(*row));
  return listed(names);
}

/// "wfbp and s-sgd tie".
std::string verdict(const Contest& contest) {
  const auto winners = contest.winners();
  const char* const verb = contest.is_undecided() ? "cannot be told apart" : winners.size() > 1 ? "tie" : "is fastest";
  return fmt::format("{} {}{}", names_of(winners), verb, contest.has_unsure() ? " by so few iterations" : "");
}

/// Of the fastest; where others may be as fast, of these too.
std::string times_of(const Contest& contest) {
  const Row& fastest = contest.fastest();
  const std::string efficiency = whole_percent(fastest.metrics.efficiency);
  if (!contest.is_undecided()) return fmt::format("{} per iteration, at {} efficiency", time_of(fastest), efficiency);
  const auto winners = contest.winners();
  return fmt::format("{} {} {} per iteration, the first at {} efficiency", time_of(fastest), winners.size() > 2 ? "to" : "and",
                     time_of(*winners.back()), efficiency);
}

std::string describe(const Contest& contest) {
  const Row& fastest = contest.fastest();
  std::string text = fmt::format("On {},", place_of(fastest));
  if (contest.missing() > 0) {
    text += fmt::format(" where {} of {} choices {} missing,", contest.missing(), contest.choices, contest.missing() == 1 ? "is" : "are");
  }
  text += fmt::format(" {}: {}; {}", verdict(contest), times_of(contest), what_holds_back(fastest));
  const auto times = [&](const Row& row) { return rounded(row.metrics.iteration / fastest.metrics.iteration, 3); };
  if (const Row* second = contest.runner_up()) {
    text += fmt::format(". Next comes {}, which takes {} times as long", name_of(*second), times(*second));
  }
  const Row* synchronous = contest.fastest_synchronous();
  if (synchronous != nullptr && synchronous != contest.runner_up()) {
    text += fmt::format("; without staleness, {} ({} times)", name_of(*synchronous), times(*synchronous));
  }
  return text;
}

/// "Fastest, or as fast as the fastest, of 20 settings: mg-wfbp in 12, asgd (staleness 3 to 7) in 9"
std::string count_wins(const std::vector<Contest>& contests) {
  struct Wins {
    std::string name;
    int count = 0;
    double least_stale = 0.0;
    double most_stale = 0.0;
  };
  std::vector<Wins> wins;
  for (const Contest& contest : contests) {
    for (const Row* row : contest.winners()) {
      const std::string name = choice_of(*row);
      const double staleness = row->metrics.staleness_mean;
      const auto found = std::find_if(wins.begin(), wins.end(), [&](const Wins& known) { return known.name == name; });
      Wins& choice = found == wins.end() ? wins.emplace_back(Wins{name, 0, staleness, staleness}) : *found;
      ++choice.count;
      choice.least_stale = std::min(choice.least_stale, staleness);
      choice.most_stale = std::max(choice.most_stale, staleness);
    }
  }
  std::stable_sort(wins.begin(), wins.end(), [](const Wins& a, const Wins& b) { return a.count > b.count; });
  constexpr std::size_t most = 4;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(most, wins.size()); ++i) {
    const auto& [name, count, least, largest] = wins[i];
    const std::string upper = rounded(largest, 2);
    const std::string staleness = rounded(least, 2) == upper ? upper : fmt::format("{} to {}", rounded(least, 2), upper);
    parts.push_back(fmt::format("{}{} in {}", name, largest > 0.0 ? fmt::format(" (staleness {})", staleness) : "", count));
  }
  if (wins.size() > most) parts.push_back(fmt::format("{} others in fewer", wins.size() - most));
  const auto undecided = std::count_if(contests.begin(), contests.end(), [](const Contest& contest) { return contest.is_undecided(); });
  const auto unsure = std::count_if(contests.begin(), contests.end(), [](const Contest& contest) { return contest.has_unsure(); });
  return fmt::format("Fastest, or as fast as the fastest{}, of {} settings{}: {}", undecided > 0 ? " as far as one can tell" : "",
                     contests.size(), unsure > 0 ? fmt::format(", {} of them by {}", unsure, too_few) : "", fmt::join(parts, ", "));
}

/// The contest to describe: with a single winner, if any has one; of these, with most workers; of these, where the choice matters most.
const Contest& example(const std::vector<Contest>& contests) {
  const auto weight = [](const Contest& contest) {
    const double ratio = contest.slowest().metrics.iteration / contest.fastest().metrics.iteration;
    return std::tuple(contest.runner_up() != nullptr, contest.fastest().workers, ratio);
  };
  return *std::max_element(contests.begin(), contests.end(), [&](const Contest& a, const Contest& b) { return weight(a) < weight(b); });
}

/// A setting without rivals.
std::string describe(const Row& row) {
  return fmt::format("{} takes {} per iteration{} on {}, at {} efficiency; {}", name_of(row), time_of(row),
                     row.is_unsure() ? fmt::format(", by {},", too_few) : "", place_of(row), whole_percent(row.metrics.efficiency),
                     what_holds_back(row));
}

/// Settings without rivals.
std::string range(const std::vector<Row>& rows) {
  const auto slower = [](const Row& a, const Row& b) { return a.metrics.iteration < b.metrics.iteration; };
  const auto [shortest, longest] = std::minmax_element(rows.begin(), rows.end(), slower);
  const bool is_unsure = std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.is_unsure(); });
  return fmt::format("{}: an iteration takes from {} ({}, at {} efficiency) to {} ({}, at {}; {}){}", name_of(*longest), time_of(*shortest),
                     setting_of(*shortest), whole_percent(shortest->metrics.efficiency), time_of(*longest), setting_of(*longest),
                     whole_percent(longest->metrics.efficiency), what_holds_back(*longest),
                     is_unsure ? fmt::format("; by {}", too_few) : "");
}

/// The end of a sentence about many points.
std::string missing_of(const std::vector<Row>& rows, const Study& study) {
  const std::size_t missing = study.points.size() - rows.size();
  return missing == 0 ? "." : fmt::format("; {} of {} points {} missing.", missing, study.points.size(), missing == 1 ? "is" : "are");
}

std::vector<std::string> who_wins(const std::vector<Row>& rows, const Study& study) {
  const std::vector<Contest> contests = contests_of(rows, study);
  const std::string missing = missing_of(rows, study);
  if (rows.size() == 1) return {describe(rows.front()) + missing};
  const auto has_rivals = [](const Contest& contest) { return contest.ranked.size() > 1; };
  if (std::none_of(contests.begin(), contests.end(), has_rivals)) return {range(rows) + missing};
  if (contests.size() > 1) return {count_wins(contests) + missing, fmt::format("For example: {}.", describe(example(contests)))};
  return {describe(contests.front()) + (contests.front().choices == study.points.size() ? "." : missing)};
}

/// Of long runs: how much of their time counts.
std::vector<std::string> describe_runs(const std::vector<Row>& rows) {
  std::vector<const Row*> runs;
  for (const Row& row : rows) {
    if (row.goodput) runs.push_back(&row);
  }
  if (runs.empty()) return {};
  const auto share = [](const Row& row) { return fmt::format("{}%", rounded(100.0 * row.goodput->effective_time_ratio, 3)); };
  const auto hours = [](const Row& row) { return rounded(row.goodput->total / Seconds(3600.0), 4); };
  if (runs.size() == 1) {
    return {
        fmt::format("Its run takes {} h; {} of that is training that counts, at full size.", hours(*runs.front()), share(*runs.front()))};
  }
  const auto less = [](const Row* a, const Row* b) { return a->goodput->effective_time_ratio < b->goodput->effective_time_ratio; };
  const auto [worst, best] = std::minmax_element(runs.begin(), runs.end(), less);
  const auto which = [](const Row& row) { return setting_of(row).empty() ? choice_of(row) : setting_of(row); };
  return {fmt::format("Of a run's time, from {} ({}; {} h) to {} ({}; {} h) is training that counts, at full size.", share(**worst),
                      which(**worst), hours(**worst), share(**best), which(**best), hours(**best))};
}

/// Of jobs that share a network: how much each takes longer for that.
std::vector<std::string> describe_jobs(const std::vector<Row>& rows, const std::string& missing) {
  const auto times = [](double slowdown) { return rounded(slowdown, 3); };
  if (rows.size() == 1) {
    std::vector<std::string> parts;
    for (const JobRow& job : rows.front().jobs) {
      parts.push_back(fmt::format("{} takes {} per iteration, {} times as long as alone", job.name, format_seconds(job.iteration),
                                  times(job.slowdown())));
    }
    return {fmt::format("Together, {} (Jain's index {}){}", fmt::join(parts, "; "), rounded(rows.front().jain(), 3), missing)};
  }
  const auto less = [](const Row& a, const Row& b) { return a.largest_slowdown() < b.largest_slowdown(); };
  const auto [least, most] = std::minmax_element(rows.begin(), rows.end(), less);
  constexpr double tie = 0.005;
  if (most->largest_slowdown() < (1.0 + tie) * least->largest_slowdown()) {
    return {fmt::format("The job that the others hold up most takes {} times as long as alone, in all of them{}",
                        times(most->largest_slowdown()), missing)};
  }
  const auto describe_one = [&](const Row& row) {
    const std::string choice = setting_of(row).empty() ? choice_of(row) : setting_of(row);
    return fmt::format("{} times ({})", times(row.largest_slowdown()), choice);
  };
  return {fmt::format("The job that the others hold up most takes from {} to {} as long as alone{}", describe_one(*least),
                      describe_one(*most), missing)};
}

}  // namespace

std::vector<std::string> answer(const std::vector<Row>& rows, const Study& study) {
  if (rows.empty()) return {};
  if (!rows.front().jobs.empty()) return describe_jobs(rows, missing_of(rows, study));
  std::vector<std::string> sentences = who_wins(rows, study);
  for (std::string& sentence : describe_runs(rows)) sentences.push_back(std::move(sentence));
  for (std::string& sentence : swept_effects(rows)) sentences.push_back(std::move(sentence));
  return sentences;
}

}  // namespace syncopate
