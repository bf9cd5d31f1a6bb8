#include "study/adviser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "base/errors.hpp"
#include "base/interruption.hpp"
#include "base/table.hpp"
#include "study/point.hpp"
#include "study/tuning.hpp"
#include "study/what_if.hpp"

namespace syncopate {

namespace {

using Objective = Advice::Objective;

constexpr std::array<const char*, Candidate::depths> fidelity_of_depth = {"alpha-beta", "per-message", "auto"};
constexpr double margin_per_message = 0.1;
constexpr double margin_deepest = 0.03;

/// Figures that tell whether two candidates of one schedule do the same.
auto fingerprint(const Candidate& candidate) {
  const Metrics& metrics = candidate.row.metrics;
  return std::tuple(candidate.place, candidate.nodes, candidate.origin, metrics.iteration.value, metrics.communications_per_iteration,
                    metrics.bytes_per_worker_per_iteration.value, metrics.staleness_mean, candidate.cycle);
}

std::string describe(const Json& schedule) { return value_label(schedule); }

}  // namespace

Adviser::Adviser(Advice advice, int jobs, std::function<bool()> interrupted)
    : advice_(std::move(advice)), jobs_(jobs), interrupted_(std::move(interrupted)), library_(advice_.folder) {}

void Adviser::search() {
  simulate_all();
  if (candidates_.empty() || std::all_of(candidates_.begin(), candidates_.end(), [](const Candidate& its) { return its.depth < 0; })) {
    throw InputError(fmt::format("{}: nothing of it can be simulated: {}", advice_.scenario.file(),
                                 left_out_.empty() ? std::string("no schedule is left") : left_out_.front()));
  }
  deepen(1, margin_per_message);
  deepen(2, margin_deepest);
  if (advice_.risk) judge_risk();
  choose();
}

// What is simulated

Adviser::Values Adviser::values_of(const Candidate& candidate) const {
  Values values = {{"/cluster", advice_.places[candidate.place].cluster}, {"/schedule", candidate.schedule}};
  values.emplace_back("/cluster/nodes", candidate.nodes);
  return values;
}

void Adviser::simulate_points(const std::vector<Point>& points, const std::function<void(int index, const Outcome&)>& done) const {
  std::vector<const Point*> asked;
  asked.reserve(points.size());
  for (const Point& point : points) asked.push_back(&point);
  syncopate::simulate_points(
      asked, jobs_, [](int /*index*/) { return PointOptions(); }, done, interrupted_);
  if (interrupted_()) throw Interrupted();
}

std::optional<std::pair<Scenario, int>> Adviser::read(const Candidate& candidate, int depth, std::string& reason) {
  for (; depth < Candidate::depths; ++depth) {
    Values values = values_of(candidate);
    values.emplace_back("/fidelity", fidelity_of_depth[static_cast<std::size_t>(depth)]);
    try {
      return std::pair(read_scenario(advice_.scenario, std::move(values), "", library_), depth);
    } catch (const InputError& error) {
      reason = error.what();
    }
  }
  return std::nullopt;
}

void Adviser::leave_out(const Candidate& candidate, const std::string& reason) {
  const std::string text = fmt::format("{} on {} nodes of {}: {}", describe(candidate.schedule), candidate.nodes,
                                       value_label(advice_.places[candidate.place].cluster), reason);
  left_out_.push_back(text);
}

void Adviser::simulate(std::vector<std::size_t> indices, int depth) {
  while (!indices.empty()) {
    std::vector<Point> points;
    std::vector<std::pair<std::size_t, int>> tasks;  // of each point: candidate, depth
    for (const std::size_t index : indices) {
      Candidate& candidate = candidates_[index];
      std::string reason;
      auto found = read(candidate, depth, reason);
      if (!found) {
        if (candidate.depth < 0) leave_out(candidate, reason);
        continue;
      }
      const Scenario& scenario = found->first;
      if (scenario.trace->provenance.synthetic() && !is_synthetic_) {
        is_synthetic_ = true;
        notes_.push_back(fmt::format("the trace of {} is SYNTHETIC, not measured", scenario.trace->model));
      }
      candidate.is_sgd = scenario.schedule.pace.is_sgd || scenario.cluster.workers() == 1;
      candidate.is_comparable = candidate.is_sgd || advice_.samples_factor.contains(scenario.schedule.name);
      candidate.cycle = scenario.schedule.pace.cycle;
      candidate.paid_nodes = scenario.paid_nodes();
      Point point;
      point.index = static_cast<int>(index);
      point.scenario = std::move(found->first);
      points.push_back(std::move(point));
      tasks.emplace_back(index, found->second);
    }
    std::vector<std::size_t> refused;
    simulate_points(points, [&](int place, const Outcome& outcome) {
      const auto& [index, its_depth] = tasks[static_cast<std::size_t>(place)];
      if (outcome.ok) {
        for (int reached = depth; reached <= its_depth; ++reached) keep(index, reached, points[static_cast<std::size_t>(place)], outcome);
        ++simulated_[candidates_[index].row.fidelity];
      } else if (its_depth + 1 < Candidate::depths) {
        refused.push_back(index);
      } else if (candidates_[index].depth < 0) {
        leave_out(candidates_[index], outcome.error);
      } else {
        notes_.push_back(fmt::format("{} on {} nodes was not simulated deeper: {}", describe(candidates_[index].schedule),
                                     candidates_[index].nodes, outcome.error));
      }
    });
    std::sort(refused.begin(), refused.end());
    indices = refused;
    ++depth;
  }
}

void Adviser::keep(std::size_t index, int depth, const Point& point, const Outcome& outcome) {
  Candidate& candidate = candidates_[index];
  const PointResult result = PointResult::unpack(outcome.result);
  candidate.iteration[static_cast<std::size_t>(depth)] = result.metrics.iteration;
  if (depth < candidate.depth) return;
  candidate.depth = depth;
  candidate.fidelity = result.fidelity;
  candidate.row = make_row(point, result);
  candidate.hours = hours_of(candidate, result.metrics.iteration);
  const std::optional<double>& price = advice_.places[candidate.place].price;
  if (price) candidate.cost = *price * candidate.paid_nodes * candidate.hours;
}

void Adviser::simulate_all() {
  std::vector<Origin> tuned;
  for (std::size_t place = 0; place < advice_.places.size(); ++place) {
    for (const int nodes : advice_.places[place].nodes) {
      for (std::size_t schedule = 0; schedule < advice_.schedules.size(); ++schedule) {
        const Json& its = advice_.schedules[schedule];
        const bool has_ranges = std::any_of(advice_.tuned.begin(), advice_.tuned.end(), [&](const Advice::Tuned& one) {
          return one.schedule == its["name"].get<std::string>() && !its.contains(one.parameter);
        });
        if (has_ranges) {
          tuned.push_back({place, nodes, schedule});
        } else {
          candidates_.push_back({.place = place, .nodes = nodes, .schedule = its, .origin = schedule});
        }
      }
    }
  }
  std::vector<std::size_t> all(candidates_.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  simulate(std::move(all), 0);
  tune(tuned);
}

void Adviser::tune(const std::vector<Origin>& origins) {
  std::vector<Tuning> searches;
  std::vector<std::vector<std::string>> parameters(origins.size());
  for (std::size_t i = 0; i < origins.size(); ++i) {
    std::vector<ValueRange> ranges;
    const Json& schedule = advice_.schedules[origins[i].schedule];
    for (const Advice::Tuned& one : advice_.tuned) {
      if (one.schedule != schedule["name"].get<std::string>() || schedule.contains(one.parameter)) continue;
      parameters[i].push_back(one.parameter);
      ranges.push_back(one.range);
    }
    searches.emplace_back(std::move(ranges));
  }
  std::vector<std::vector<std::size_t>> found(searches.size());
  while (true) {
    struct Asked {
      std::size_t search;
      Tuning::Values values;
      std::size_t candidate;
    };
    std::vector<Asked> asked;
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < searches.size(); ++i) {
      for (const Tuning::Values& values : searches[i].wanted()) {
        Candidate candidate = {.place = origins[i].place,
                               .nodes = origins[i].nodes,
                               .schedule = advice_.schedules[origins[i].schedule],
                               .origin = origins[i].schedule};
        const std::vector<Json> json = searches[i].as_json(values);
        for (std::size_t p = 0; p < json.size(); ++p) candidate.schedule[parameters[i][p]] = json[p];
        asked.push_back({i, values, candidates_.size()});
        found[i].push_back(candidates_.size());
        indices.push_back(candidates_.size());
        candidates_.push_back(std::move(candidate));
      }
    }
    if (asked.empty()) break;
    simulate(std::move(indices), 0);
    std::vector<std::map<Tuning::Values, double>> learnt(searches.size());
    for (const auto& [search, values, index] : asked) {
      const Candidate& candidate = candidates_[index];
      learnt[search][values] = candidate.depth < 0 ? std::numeric_limits<double>::infinity() : candidate.row.metrics.iteration.value;
    }
    for (std::size_t i = 0; i < searches.size(); ++i) {
      if (!learnt[i].empty()) searches[i].learn(learnt[i]);
    }
  }
  mark_probes(found);
}

/// Of what came from one search and is compared by the objective alone, all but the best were on the way to it.
void Adviser::mark_probes(const std::vector<std::vector<std::size_t>>& searches) {
  for (const std::vector<std::size_t>& search : searches) {
    std::optional<std::size_t> best;
    for (const std::size_t index : search) {
      Candidate& its = candidates_[index];
      if (its.depth < 0 || !its.is_comparable) continue;
      its.is_probe = true;
      if (!best || its.row.metrics.iteration < candidates_[*best].row.metrics.iteration) best = index;
    }
    if (best) candidates_[*best].is_probe = false;
  }
}

// What is best

double Adviser::samples_factor(const Candidate& candidate) const {
  const auto found = advice_.samples_factor.find(candidate.schedule["name"].get<std::string>());
  return found == advice_.samples_factor.end() ? 1.0 : found->second;
}

double Adviser::hours_of(const Candidate& candidate, Seconds iteration) const {
  constexpr double hour = 3600.0;
  const double throughput = static_cast<double>(candidate.row.workers) * static_cast<double>(candidate.row.batch) / iteration.value;
  return advice_.samples * samples_factor(candidate) / throughput / hour;
}

/// What the objective looks at, less being better.
std::vector<double> Adviser::measures(const Candidate& candidate, Seconds iteration) const {
  const double hours = hours_of(candidate, iteration);
  const double cost = advice_.places[candidate.place].price.value_or(0.0) * candidate.paid_nodes * hours;
  switch (advice_.objective) {
    case Objective::time: return {hours};
    case Objective::cost: return {cost};
    case Objective::pareto: break;
  }
  return {hours, cost};
}

double Adviser::value(const Candidate& candidate) const { return measures(candidate, candidate.row.metrics.iteration).front(); }

bool Adviser::is_within_limits(const Candidate& candidate, double slack) const {
  const double staleness = candidate.row.metrics.staleness_mean;
  if (advice_.most_staleness && staleness > slack * *advice_.most_staleness) return false;
  if (advice_.budget && candidate.cost.value_or(0.0) > slack * *advice_.budget) return false;
  return !advice_.deadline_h || candidate.hours <= slack * *advice_.deadline_h;
}

/// It is comparable, and better by more than the margin in all that counts.
bool Adviser::beats(const Candidate& one, const Candidate& other, double margin, int depth) const {
  const auto at = static_cast<std::size_t>(depth);
  if (!one.is_comparable || !one.iteration[at] || !other.iteration[at] || !is_within_limits(one, 1.0 / (1.0 + margin))) return false;
  const std::vector<double> a = measures(one, *one.iteration[at]);
  const std::vector<double> b = measures(other, *other.iteration[at]);
  bool is_better = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] * (1.0 + margin) > b[i] * (1.0 + rounding)) return false;
    is_better = is_better || a[i] * (1.0 + margin) * (1.0 + rounding) < b[i];
  }
  return is_better;
}

/// Of one schedule that does not train as synchronous SGD does: no staler, no rarer, and as good.
bool Adviser::is_fresher_and_as_good(const Candidate& one, const Candidate& other, int depth) const {
  const auto at = static_cast<std::size_t>(depth);
  if (one.is_comparable || one.origin != other.origin || !one.iteration[at] || !other.iteration[at] || !is_within_limits(one)) return false;
  const auto distance = [](const Candidate& its) { return std::pair(its.row.metrics.staleness_mean, its.cycle); };
  const auto [staleness, cycle] = distance(one);
  const auto [its_staleness, its_cycle] = distance(other);
  if (staleness > its_staleness || cycle > its_cycle) return false;
  const std::vector<double> a = measures(one, *one.iteration[at]);
  const std::vector<double> b = measures(other, *other.iteration[at]);
  const bool is_fresher = staleness < its_staleness || cycle < its_cycle;
  const double slack = is_fresher ? practically_none : rounding;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i] * (1.0 + slack)) return false;
  }
  return is_fresher || a < b || &one < &other;
}

bool Adviser::is_beaten(const Candidate& candidate, double margin, int depth) const {
  return std::any_of(candidates_.begin(), candidates_.end(), [&](const Candidate& rival) {
    return &rival != &candidate && (beats(rival, candidate, margin, depth) || is_fresher_and_as_good(rival, candidate, depth));
  });
}

/// It is comparable, noticeably better in something that counts, and as good in the rest.
bool Adviser::is_noticeably_better(const Candidate& one, const Candidate& other) const {
  const std::vector<double> a = measures(one, one.row.metrics.iteration);
  const std::vector<double> b = measures(other, other.row.metrics.iteration);
  bool is_better = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i] * (1.0 + practically_none)) return false;
    is_better = is_better || a[i] * (1.0 + practically_none) < b[i];
  }
  return is_better;
}

std::vector<std::size_t> Adviser::worth_deepening(int depth, double margin) const {
  std::vector<std::size_t> found;
  std::set<decltype(fingerprint(candidates_.front()))> seen;
  for (const Candidate& its : candidates_) {
    if (its.depth >= depth) seen.insert(fingerprint(its));
  }
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& its = candidates_[i];
    if (its.depth != depth - 1 || its.is_probe || !is_within_limits(its, 1.0 + margin)) continue;
    const bool is_beaten =
        std::any_of(candidates_.begin(), candidates_.end(), [&](const Candidate& rival) { return beats(rival, its, margin, depth - 1); });
    if (!is_beaten && seen.insert(fingerprint(its)).second) found.push_back(i);
  }
  return found;
}

/// By how much the ratios of two depths' times differ from candidate to candidate, those that are not known being 1.
double Adviser::disagreement(int depth) const {
  double least = 1.0;
  double most = 1.0;
  for (const Candidate& its : candidates_) {
    const auto& deep = its.iteration[static_cast<std::size_t>(depth)];
    const auto& shallow = its.iteration[static_cast<std::size_t>(depth) - 1];
    if (!deep || !shallow) continue;
    least = std::min(least, *deep / *shallow);
    most = std::max(most, *deep / *shallow);
  }
  return most / least - 1.0;
}

void Adviser::deepen(int depth, double margin) {
  const double usual = margin;
  while (true) {
    const std::vector<std::size_t> next = worth_deepening(depth, margin);
    if (next.empty()) break;
    simulate(next, depth);
    margin = std::max(margin, disagreement(depth));
  }
  if (margin <= usual) return;
  notes_.push_back(
      fmt::format("{} and {} disagree by up to {:.1f}%: what is within that of the best was simulated deeper, not only within {:.0f}%",
                  fidelity_of_depth[static_cast<std::size_t>(depth) - 1], fidelity_of_depth[static_cast<std::size_t>(depth)],
                  100.0 * margin, 100.0 * usual));
}

void Adviser::judge_risk() {
  const Advice::Risk& risk = *advice_.risk;
  std::vector<std::size_t> judged;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& its = candidates_[i];
    if (!is_deepest(its) || !its.is_comparable || !is_within_limits(its)) continue;
    if (!is_beaten(its, margin_deepest, Candidate::depths - 1)) judged.push_back(i);
  }
  std::vector<double> bandwidths = {1.0};
  if (risk.bandwidth > 0.0) bandwidths = {1.0 - risk.bandwidth, 1.0, 1.0 + risk.bandwidth};
  const int seeds = risk.workers ? risk.seeds : 1;
  std::vector<Point> points;
  for (const std::size_t index : judged) {
    Values values = values_of(candidates_[index]);
    values.emplace_back("/fidelity", fidelity_of_depth.back());
    if (risk.workers) values.emplace_back("/workers", *risk.workers);
    Point point;
    point.index = static_cast<int>(index);
    point.scenario = read_scenario(advice_.scenario, std::move(values), " (in /risk/workers)", library_);
    for (const double bandwidth : bandwidths) {
      for (int seed = 0; seed < seeds; ++seed) {
        points.push_back(point);
        points.back().scenario.speed.seed = advice_.seed + static_cast<std::uint64_t>(seed);
        scale_network_bandwidth(points.back().scenario.cluster, bandwidth);
      }
    }
  }
  const std::size_t worlds = bandwidths.size() * static_cast<std::size_t>(seeds);
  std::vector<std::vector<double>> values(judged.size(), std::vector<double>(worlds));
  simulate_points(points, [&](int place, const Outcome& outcome) {
    const auto at = static_cast<std::size_t>(place);
    const Candidate& candidate = candidates_[judged[at / worlds]];
    if (!outcome.ok) throw SimulationError(fmt::format("{} in another world: {}", describe(candidate.schedule), outcome.error));
    const PointResult result = PointResult::unpack(outcome.result);
    ++simulated_[std::string(to_string(result.fidelity))];
    values[at / worlds][at % worlds] = measures(candidate, result.metrics.iteration).front();
  });
  for (std::size_t i = 0; i < judged.size(); ++i) {
    Candidate::Risk its;
    for (std::size_t world = 0; world < worlds; ++world) {
      double best = values.front()[world];
      for (const std::vector<double>& one : values) best = std::min(best, one[world]);
      const double regret = best > 0.0 ? values[i][world] / best - 1.0 : 0.0;
      its.mean += values[i][world] / static_cast<double>(worlds);
      its.mean_regret += regret / static_cast<double>(worlds);
      its.worst_regret = std::max(its.worst_regret, regret);
    }
    candidates_[judged[i]].risk = its;
  }
}

void Adviser::choose() {
  if (advice_.objective == Objective::pareto) return;
  std::vector<std::size_t> best = ranked(true);
  if (best.empty()) return;
  if (advice_.risk) {
    const auto rank = [this](std::size_t index) {
      const std::optional<Candidate::Risk>& risk = candidates_[index].risk;
      constexpr double digits = 1e9;
      return risk ? std::pair(std::round(risk->worst_regret * digits), risk->mean)
                  : std::pair(std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity());
    };
    std::stable_sort(best.begin(), best.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  }
  choice_ = best.front();
  find_runner_up(best);
  try {
    decides_ = ask_what_decides(candidates_[*choice_]);
  } catch (const SimulationError& error) {
    notes_.push_back(fmt::format("what holds the choice back is not known: {}", error.what()));
  }
}

/// Among those or, where they have none, the best of all others, which is then simulated as deep.
void Adviser::find_runner_up(const std::vector<std::size_t>& best) {
  const auto is_other = [this](std::size_t index) {
    const Candidate& its = candidates_[index];
    const Candidate& choice = candidates_[*choice_];
    return its.place != choice.place || its.nodes != choice.nodes || its.schedule["name"] != choice.schedule["name"];
  };
  const auto found = std::find_if(best.begin(), best.end(), is_other);
  if (found != best.end()) {
    runner_up_ = *found;
    return;
  }
  std::optional<std::size_t> next;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& its = candidates_[i];
    if (its.depth < 0 || !its.is_comparable || !is_within_limits(its) || !is_other(i)) continue;
    if (!next || value(its) < value(candidates_[*next])) next = i;
  }
  if (!next) return;
  simulate({*next}, Candidate::depths - 1);
  if (is_deepest(candidates_[*next]) && is_within_limits(candidates_[*next])) runner_up_ = next;
}

std::vector<WhatIf> Adviser::ask_what_decides(const Candidate& candidate) {
  std::string reason;
  Point point;
  point.scenario = std::move(read(candidate, Candidate::depths - 1, reason)->first);
  point = as_one_run(std::move(point));
  constexpr double by = 0.1;
  constexpr std::size_t most = 2;
  constexpr double noticeable = 1e-4;
  const Explained explained = explain({&point}, jobs_, interrupted_).front();
  std::vector<WhatIf> deciding;
  for (WhatIf& what : ask_what_if(
           explained, {by}, jobs_, [](std::size_t /*done*/, std::size_t /*all*/) {}, interrupted_)) {
    const bool counts = !what.factor.is_unreal() && what.saved(explained.iteration()) > noticeable;
    if (counts && deciding.size() < most) deciding.push_back(std::move(what));
  }
  return deciding;
}

/// Those that were simulated deepest and are within the limits, best first.
std::vector<std::size_t> Adviser::ranked(bool comparable) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& its = candidates_[i];
    if (is_deepest(its) && its.is_comparable == comparable && is_within_limits(its)) found.push_back(i);
  }
  const auto rank = [this](std::size_t index) { return std::pair(value(candidates_[index]), candidates_[index].hours); };
  std::stable_sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return found;
}

std::vector<std::size_t> Adviser::front() const {
  const std::vector<std::size_t> comparable = ranked(true);
  std::vector<std::size_t> found;
  std::set<decltype(fingerprint(candidates_.front()))> seen;
  for (const std::size_t index : comparable) {
    const Candidate& its = candidates_[index];
    const bool is_behind =
        std::any_of(comparable.begin(), comparable.end(), [&](std::size_t rival) { return is_noticeably_better(candidates_[rival], its); });
    if (!is_behind && seen.insert(fingerprint(its)).second) found.push_back(index);
  }
  return found;
}

std::vector<std::size_t> Adviser::staler() const {
  std::vector<std::size_t> found = ranked(false);
  std::erase_if(found, [this](std::size_t index) {
    return break_even(index) <= 1.0 + practically_none || is_beaten(candidates_[index], 0.0, Candidate::depths - 1);
  });
  return found;
}

double Adviser::break_even(std::size_t staler) const {
  const Candidate& its = candidates_[staler];
  const std::vector<double> own = measures(its, its.row.metrics.iteration);
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t index : ranked(true)) {
    const std::vector<double> rival = measures(candidates_[index], candidates_[index].row.metrics.iteration);
    double factor = 0.0;
    for (std::size_t i = 0; i < own.size(); ++i) factor = std::max(factor, rival[i] / own[i]);
    least = std::min(least, factor);
  }
  return least;
}

Json Adviser::scenario(const Candidate& candidate, const std::filesystem::path& folder) const {
  Json json = advice_.scenario.root();
  const auto from_there = [&](const Json& value, FileKind kind) -> Json {
    if (!value.is_string()) return value;
    const std::filesystem::path file = named_file(value.get<std::string>(), {kind}, advice_.folder);
    const auto whole = [](const std::filesystem::path& path) { return std::filesystem::absolute(path).lexically_normal(); };
    return whole(file).lexically_proximate(whole(folder)).string();
  };
  json["trace"] = from_there(json["trace"], FileKind::trace);
  json["cluster"] = from_there(advice_.places[candidate.place].cluster, FileKind::cluster);
  json["schedule"] = candidate.schedule;
  constexpr double most_exact = 1e15;
  json["samples"] = static_cast<std::int64_t>(std::llround(std::min(most_exact, std::ceil(advice_.samples * samples_factor(candidate)))));
  json["epochs"] = 1;
  json["sweep"] = {{"/cluster/nodes", Json::array({candidate.nodes})}};
  return json;
}

}  // namespace syncopate
