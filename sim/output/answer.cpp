#include "output/answer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/table.hpp"

namespace syncopate {

namespace {

constexpr double noticeable = 0.05;  ///< a share of an iteration

bool is_choice(const std::string& pointer) { return pointer.starts_with("/schedule") || pointer.starts_with("/all_reduce"); }

std::string percent(double share) { return fmt::format("{:.0f}%", 100.0 * share); }

/// The schedule and the collective as the sweep names them.
std::string choice_of(const Row& row) {
  std::vector<std::string> parts;
  bool names_schedule = false;
  for (const auto& [pointer, value] : row.sweep) {
    if (!is_choice(pointer)) continue;
    names_schedule = names_schedule || pointer == "/schedule" || pointer == "/schedule/name";
    const std::string key = pointer.substr(pointer.rfind('/') + 1);
    const bool speaks_for_itself = value.is_object() || key == "schedule" || key == "name" || key == "all_reduce";
    parts.push_back(speaks_for_itself ? value_label(value) : fmt::format("{} {}", key, value_label(value)));
  }
  if (!names_schedule) parts.insert(parts.begin(), row.schedule);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string name_of(const Row& row) { return with_staleness(choice_of(row), row); }

/// The other swept values: "nodes 64, bandwidth 10Gbps"; `beside_cluster`: but for what its name and size say.
std::string setting_of(const Row& row, bool beside_cluster = false) {
  std::vector<std::string> parts;
  for (const auto& [pointer, value] : row.sweep) {
    if (is_choice(pointer)) continue;
    if (beside_cluster && (pointer == "/cluster" || pointer == "/cluster/name" || pointer == "/cluster/nodes")) continue;
    const std::string label = value_label(value);
    parts.push_back(pointer == "/cluster" || pointer == "/trace" ? label
                                                                 : fmt::format("{} {}", pointer.substr(pointer.rfind('/') + 1), label));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string time_of(const Row& row) {
  std::string iteration = format_seconds(row.metrics.iteration);
  if (!row.interval) return iteration;
  return fmt::format("{} ± {:.2g}%", iteration, 100.0 * (row.interval->end / row.metrics.iteration - 1.0));
}

std::string what_holds_back(const Row& row) {
  const Metrics& m = row.metrics;
  const double exposed = m.exposed_communication / m.iteration;
  const double wait = m.wait / m.iteration;
  std::vector<std::string> parts;
  if (exposed >= noticeable) parts.push_back(percent(exposed) + " of it is communication that nothing hides");
  if (wait >= noticeable) parts.push_back(percent(wait) + " waiting for others or slower than usual");
  if (parts.empty()) return fmt::format("nothing holds it back: {} of it is compute", percent(m.compute / m.iteration));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Rows of one setting, the fastest first.
struct Contest {
  std::vector<const Row*> ranked;

  const Row& fastest() const { return *ranked.front(); }

  /// The fastest and what ties with it.
  std::vector<const Row*> winners() const {
    std::vector<const Row*> names;
    std::copy_if(ranked.begin(), ranked.end(), std::back_inserter(names), [&](const Row* row) { return ties_with(*row, fastest()); });
    return names;
  }

  const Row* runner_up() const {
    const auto found = std::find_if(ranked.begin(), ranked.end(), [&](const Row* row) { return !ties_with(*row, fastest()); });
    return found == ranked.end() ? nullptr : *found;
  }

  /// Where all that win are stale: the fastest that is not.
  const Row* fastest_synchronous() const {
    const auto is_synchronous = [](const Row* row) { return row->metrics.staleness_max == 0.0; };
    const auto found = std::find_if(ranked.begin(), ranked.end(), is_synchronous);
    return found == ranked.end() || ties_with(**found, fastest()) ? nullptr : *found;
  }
};

std::vector<Contest> contests_of(const std::vector<Row>& rows) {
  using Setting = std::tuple<std::string, int, std::string, std::string>;
  std::vector<Contest> contests;
  std::map<Setting, std::size_t> places;
  for (const Row& row : rows) {
    const auto [found, is_new] = places.try_emplace({row.cluster, row.workers, row.model, setting_of(row)}, contests.size());
    if (is_new) contests.emplace_back();
    contests[found->second].ranked.push_back(&row);
  }
  for (Contest& contest : contests) {
    std::stable_sort(contest.ranked.begin(), contest.ranked.end(),
                     [](const Row* a, const Row* b) { return a->metrics.iteration < b->metrics.iteration; });
  }
  return contests;
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

std::string place_of(const Row& row) {
  const std::string setting = setting_of(row, true);
  const std::string workers = row.workers == row.nodes ? "" : fmt::format(" ({} GPUs)", row.workers);
  return fmt::format("{} x {}{}{}", row.nodes, row.cluster, workers, setting.empty() ? "" : fmt::format(" ({})", setting));
}

std::string describe(const Contest& contest) {
  const Row& fastest = contest.fastest();
  const auto winners = contest.winners();
  std::string text = fmt::format("On {}, {} {}: {} per iteration, at {} efficiency; {}", place_of(fastest), names_of(winners),
                                 winners.size() > 1 ? "tie" : "is fastest", time_of(fastest), percent(fastest.metrics.efficiency),
                                 what_holds_back(fastest));
  if (const Row* second = contest.runner_up()) {
    text += fmt::format(". Next comes {}, which takes {:.3g} times as long", name_of(*second),
                        second->metrics.iteration / fastest.metrics.iteration);
  }
  const Row* synchronous = contest.fastest_synchronous();
  if (synchronous != nullptr && synchronous != contest.runner_up()) {
    text += fmt::format("; without staleness, {} ({:.3g} times)", name_of(*synchronous),
                        synchronous->metrics.iteration / fastest.metrics.iteration);
  }
  return text + ".";
}

/// "Fastest, or as fast as the fastest, of 20 settings: mg-wfbp in 12, asgd (staleness 3 to 7) in 9."
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
      const auto found = std::find_if(wins.begin(), wins.end(), [&](const Wins& one) { return one.name == name; });
      Wins& its = found == wins.end() ? wins.emplace_back(Wins{name, 0, staleness, staleness}) : *found;
      ++its.count;
      its.least_stale = std::min(its.least_stale, staleness);
      its.most_stale = std::max(its.most_stale, staleness);
    }
  }
  std::stable_sort(wins.begin(), wins.end(), [](const Wins& a, const Wins& b) { return a.count > b.count; });
  constexpr std::size_t most = 4;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(most, wins.size()); ++i) {
    const auto& [name, count, least, largest] = wins[i];
    const std::string staleness = fmt::format("{:.2g}", least) == fmt::format("{:.2g}", largest)
                                      ? fmt::format("{:.2g}", largest)
                                      : fmt::format("{:.2g} to {:.2g}", least, largest);
    parts.push_back(fmt::format("{}{} in {}", name, largest > 0.0 ? fmt::format(" (staleness {})", staleness) : "", count));
  }
  if (wins.size() > most) parts.push_back(fmt::format("{} others in fewer", wins.size() - most));
  return fmt::format("Fastest, or as fast as the fastest, of {} settings: {}.", contests.size(), fmt::join(parts, ", "));
}

/// Settings without rivals.
std::string range(const std::vector<Row>& rows) {
  const auto slower = [](const Row& a, const Row& b) { return a.metrics.iteration < b.metrics.iteration; };
  const auto [shortest, longest] = std::minmax_element(rows.begin(), rows.end(), slower);
  return fmt::format("{}: an iteration takes from {} ({}, at {} efficiency) to {} ({}, at {}; {}).", name_of(*longest), time_of(*shortest),
                     setting_of(*shortest), percent(shortest->metrics.efficiency), time_of(*longest), setting_of(*longest),
                     percent(longest->metrics.efficiency), what_holds_back(*longest));
}

}  // namespace

bool ties_with(const Row& row, const Row& fastest) {
  if (row.metrics.iteration <= fastest.metrics.iteration * (1.0 + practically_equal)) return true;
  const Seconds low = row.interval ? row.interval->start : row.metrics.iteration;
  const Seconds high = fastest.interval ? fastest.interval->end : fastest.metrics.iteration;
  return low <= high;
}

std::string with_staleness(const std::string& name, const Row& row) {
  return row.metrics.staleness_max > 0.0 ? fmt::format("{} (staleness {:.2g})", name, row.metrics.staleness_mean) : name;
}

std::vector<std::string> answer(const std::vector<Row>& rows) {
  if (rows.empty()) return {};
  const std::vector<Contest> contests = contests_of(rows);
  if (rows.size() == 1) {
    const Row& row = rows.front();
    return {fmt::format("{} takes {} per iteration on {}, at {} efficiency; {}.", name_of(row), time_of(row), place_of(row),
                        percent(row.metrics.efficiency), what_holds_back(row))};
  }
  const auto has_rivals = [](const Contest& contest) { return contest.ranked.size() > 1; };
  if (std::none_of(contests.begin(), contests.end(), has_rivals)) return {range(rows)};
  if (contests.size() == 1) return {describe(contests.front())};
  const auto largest = std::max_element(contests.begin(), contests.end(),
                                        [](const Contest& a, const Contest& b) { return a.fastest().workers < b.fastest().workers; });
  return {count_wins(contests), describe(*largest)};
}

}  // namespace syncopate
