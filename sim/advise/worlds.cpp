#include "advise/worlds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/indexed.hpp"
#include "explain/what_if.hpp"
#include "run/run_plan.hpp"

namespace syncopate {

namespace {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Whether fidelity auto would simulate every message of overlapping collectives.
bool moves_by_message(const Scenario& scenario) {
  const std::vector<StreamTraffic>& streams = scenario.schedule.traffic.streams;
  const auto overlaps = [](const StreamTraffic& stream) { return stream.rules.channels > 1; };
  return !scenario.fidelity && scenario.cluster.is_star() && std::any_of(streams.begin(), streams.end(), overlaps);
}

}  // namespace

Worlds::Worlds(const Advice& advice, const Criteria& criteria, CandidateRuns& runs)
    : advice_(&advice), criteria_(&criteria), runs_(&runs), seeds_(advice.risk->workers ? advice.risk->seeds : 1) {
  const double change = advice.risk->bandwidth;
  bandwidths_ = change > 0.0 ? std::vector{1.0 - change, 1.0, 1.0 + change} : std::vector{1.0};
}

/// The candidate's points, one per world.
std::vector<Point> Worlds::points_of(const Candidate& candidate) const {
  std::vector<std::pair<std::string, Json>> values;
  if (advice_->risk->workers) values.emplace_back("/workers", *advice_->risk->workers);
  const Point point = runs_->point(candidate, std::move(values), " (in /risk/workers)");
  std::vector<Point> points;
  for (const double bandwidth : bandwidths_) {
    for (int seed = 0; seed < seeds_; ++seed) {
      Scenario& scenario = points.emplace_back(point).scenario;
      scenario.speed.seed = advice_->seed + static_cast<std::uint64_t>(seed);
      if (moves_by_message(scenario) && knows_a_line(scenario)) scenario.fidelity = Fidelity::alpha_beta;
      scale_network_bandwidth(scenario.cluster, bandwidth);
    }
  }
  return points;
}

void Worlds::judge(std::vector<Candidate>& candidates, const std::vector<std::size_t>& indices) {
  std::vector<Point> points;
  for (const std::size_t index : indices) {
    for (Point& point : points_of(candidates[index])) points.push_back(std::move(point));
  }
  const std::vector<Outcome> outcomes = runs_->run(points, "simulations of other worlds");
  const std::size_t worlds = bandwidths_.size() * at(seeds_);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    Candidate& candidate = candidates[indices[i]];
    Candidate::Risk risk;
    for (std::size_t world = 0; world < worlds && candidate.refusal.empty(); ++world) {
      const Outcome& outcome = outcomes[i * worlds + world];
      if (!outcome.ok) {
        runs_->refuse(candidate, fmt::format("in another world: {}", outcome.error));
        continue;
      }
      const PointResult result = PointResult::unpack(outcome.result);
      runs_->count(result.fidelity);
      risk.hours.push_back(criteria_->hours(candidate, result.metrics.iteration));
      risk.mean_staleness += result.metrics.staleness_mean / static_cast<double>(worlds);
    }
    if (!candidate.refusal.empty()) continue;
    risk.mean_hours = mean(risk.hours);
    risk.worst_hours = *std::max_element(risk.hours.begin(), risk.hours.end());
    candidate.risk = std::move(risk);
  }
  find_regrets(candidates);
}

void Worlds::find_regrets(std::vector<Candidate>& candidates) const {
  std::vector<Candidate*> rivals;
  for (Candidate& its : candidates) {
    if (its.risk && criteria_->is_within_limits(its)) rivals.push_back(&its);
  }
  std::vector<double> best(bandwidths_.size() * at(seeds_), std::numeric_limits<double>::infinity());
  const auto value = [&](const Candidate& its, std::size_t world) { return criteria_->measures(its, its.risk->hours[world]).front(); };
  for (const Candidate* its : rivals) {
    for (std::size_t world = 0; world < best.size(); ++world) best[world] = std::min(best[world], value(*its, world));
  }
  for (Candidate* its : rivals) {
    std::vector<double> regrets;
    for (std::size_t world = 0; world < best.size(); ++world)
      regrets.push_back(best[world] > 0.0 ? value(*its, world) / best[world] - 1.0 : 0.0);
    its->risk->worst_regret = *std::max_element(regrets.begin(), regrets.end());
    its->risk->mean_regret = mean(regrets);
  }
}

}  // namespace syncopate
