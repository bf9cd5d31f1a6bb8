#include "explain/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/indexed.hpp"
#include "base/interruption.hpp"

namespace syncopate {

namespace {

bool has_one_change(const Factor& factor) { return factor.kind == Factor::Kind::given || factor.kind == Factor::Kind::limit; }

Json point_json(const Explained& explained) {
  Json sweep = Json::object();
  for (const auto& [pointer, value] : explained.point->sweep) sweep[pointer] = value;
  return {{"point", explained.point->index},
          {"sweep", sweep},
          {"fidelity", to_string(explained.row.fidelity)},
          {"iteration_s", explained.iteration().value},
          {"path", to_json(explained.path)}};
}

Json head_json(const std::string& scenario, const Explained& explained) {
  Json json = {{"format", "explanation/1"}, {"scenario", std::filesystem::path(scenario).filename().string()}};
  json.update(point_json(explained));
  return json;
}

Json effect_json(const Factor& factor, const Effect& effect, Seconds before) {
  Json json = {{"change", factor.kind == Factor::Kind::limit ? Json(factor.limit) : Json(factor.factor(effect.by))}};
  if (effect.iteration) {
    json["iteration_s"] = effect.iteration->value;
    json["time_saved"] = 1.0 - *effect.iteration / before;
  } else {
    json["error"] = effect.error;
  }
  return json;
}

}  // namespace

Point as_one_run(Point point) {
  point.scenario.replicates = 1;
  point.scenario.until.reset();
  return point;
}

std::vector<Explained> explain(const std::vector<const Point*>& points, int jobs, const std::function<bool()>& interrupted,
                               const Limits& limits) {
  std::vector<Explained> explained(points.size());
  simulate_points(
      points, jobs, [](int /*index*/) { return PointOptions{.explain = true}; },
      [&](int index, const Outcome& outcome) {
        const std::size_t place = at(index);
        const Point& point = *points[place];
        if (!outcome.ok) throw SimulationError(fmt::format("point {}: {}", point.index, outcome.error));
        const PointResult result = PointResult::unpack(outcome.result);
        explained[place] = {&point, make_row(point, result), result.fidelity, path_shares_of(result.details["path"])};
      },
      interrupted, {.limits = limits});
  if (interrupted()) throw Interrupted();
  return explained;
}

std::vector<WhatIf> ask_what_if(const Explained& base, const std::vector<double>& changes, int jobs,
                                const std::function<void(std::size_t done, std::size_t all)>& advance,
                                const std::function<bool()>& interrupted, const Limits& limits) {
  std::vector<WhatIf> what_if;
  std::vector<Point> points;
  std::vector<std::pair<std::size_t, std::size_t>> places;  // per point: index of the what-if, index of the change
  for (Factor& factor : factors_of(base.point->scenario, base.path)) {
    const std::size_t count = has_one_change(factor) ? 1 : changes.size();
    for (std::size_t change = 0; change < count; ++change) {
      Point point = *base.point;
      point.scenario.fidelity = base.fidelity;
      if (std::exchange(point.scenario.chooses_window, false)) point.scenario.measured = base.row.measured_iterations;
      factor.apply(point.scenario, factor.factor(changes[change]));
      places.emplace_back(what_if.size(), change);
      points.push_back(std::move(point));
    }
    what_if.push_back({std::move(factor), std::vector<Effect>(count)});
    for (std::size_t change = 0; change < count; ++change) what_if.back().effects[change].by = changes[change];
  }
  std::vector<const Point*> asked;
  asked.reserve(points.size());
  for (const Point& point : points) asked.push_back(&point);
  std::size_t ended = 0;
  simulate_points(
      asked, jobs, [](int /*index*/) { return PointOptions(); },
      [&](int index, const Outcome& outcome) {
        advance(++ended, asked.size());
        const auto [what, change] = places[at(index)];
        Effect& effect = what_if[what].effects[change];
        if (outcome.ok) {
          effect.iteration = PointResult::unpack(outcome.result).metrics.iteration;
        } else {
          effect.error = outcome.error;
        }
      },
      interrupted, {.limits = limits});
  if (interrupted()) throw Interrupted();
  std::stable_sort(what_if.begin(), what_if.end(), [&](const WhatIf& a, const WhatIf& b) {
    const auto place = [&](const WhatIf& what) { return std::pair(what.factor.is_unreal(), -what.saved(base.iteration())); };
    return place(a) < place(b);
  });
  return what_if;
}

Json explanation_json(const std::string& scenario, const Explained& explained, const std::vector<WhatIf>& what_if) {
  Json json = head_json(scenario, explained);
  json["what_if"] = Json::array();
  for (const WhatIf& what : what_if) {
    Json row = {{"factor", what.factor.name}};
    if (what.effects.size() == 1) {
      row.update(effect_json(what.factor, what.effects.front(), explained.iteration()));
    } else {
      for (const Effect& effect : what.effects) row["curve"].push_back(effect_json(what.factor, effect, explained.iteration()));
    }
    json["what_if"].push_back(row);
  }
  return json;
}

Json explanation_json(const std::string& scenario, const Explained& explained, const Explained& against) {
  Json json = head_json(scenario, explained);
  json["against"] = point_json(against);
  return json;
}

}  // namespace syncopate
