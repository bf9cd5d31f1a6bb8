#include "output/contest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "output/standing.hpp"

namespace syncopate {

namespace {

bool is_stale(const Row* row) { return row->metrics.staleness_max > 0.0; }

}  // namespace

bool is_choice(const std::string& pointer) { return pointer.starts_with("/schedule") || pointer.starts_with("/all_reduce"); }

std::vector<const Row*> Contest::winners() const {
  std::vector<const Row*> rows;
  std::copy_if(ranked.begin(), ranked.end(), std::back_inserter(rows),
               [&](const Row* row) { return standing(*row, fastest()) != Standing::slower; });
  return rows;
}

bool Contest::is_undecided() const {
  return std::any_of(ranked.begin(), ranked.end(), [&](const Row* row) { return standing(*row, fastest()) == Standing::undecided; });
}

const Row* Contest::runner_up() const {
  const auto found =
      std::find_if(ranked.begin(), ranked.end(), [&](const Row* row) { return standing(*row, fastest()) == Standing::slower; });
  return found == ranked.end() ? nullptr : *found;
}

const Row* Contest::fastest_synchronous() const {
  const std::vector<const Row*> fast = winners();
  if (!std::all_of(fast.begin(), fast.end(), is_stale)) return nullptr;
  const auto found = std::find_if_not(ranked.begin(), ranked.end(), is_stale);
  return found == ranked.end() ? nullptr : *found;
}

bool Contest::has_unsure() const {
  return std::any_of(ranked.begin(), ranked.end(), [](const Row* row) { return row->is_unsure(); });
}

std::vector<Contest> contests_of(const std::vector<Row>& rows, const Study& study) {
  std::map<int, const Row*> by_point;
  for (const Row& row : rows) by_point[row.point] = &row;
  std::vector<Contest> contests;
  std::map<std::string, std::size_t> places;  // of settings
  for (const Point& point : study.points) {
    std::string setting;
    for (const auto& [pointer, value] : point.sweep) {
      if (!is_choice(pointer)) setting += fmt::format("{} {}\n", pointer, value.dump());
    }
    const auto [place, is_new] = places.try_emplace(setting, contests.size());
    if (is_new) contests.emplace_back();
    Contest& contest = contests[place->second];
    ++contest.choices;
    if (const auto row = by_point.find(point.index); row != by_point.end()) contest.ranked.push_back(row->second);
  }
  std::erase_if(contests, [](const Contest& contest) { return contest.ranked.empty(); });
  for (Contest& contest : contests) {
    std::stable_sort(contest.ranked.begin(), contest.ranked.end(),
                     [](const Row* a, const Row* b) { return a->metrics.iteration < b->metrics.iteration; });
  }
  return contests;
}

}  // namespace syncopate
