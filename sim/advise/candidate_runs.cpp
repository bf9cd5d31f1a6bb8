#include "advise/candidate_runs.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/errors.hpp"
#include "base/indexed.hpp"
#include "base/interruption.hpp"
#include "base/progress.hpp"
#include "run/usual_networks.hpp"

namespace syncopate {

namespace {

/// Progress of a simulation that takes more than a second; else empty.
std::string describe(const std::vector<Point>& points, const std::optional<RunningTask>& running) {
  constexpr Seconds noticeable(1.0);
  if (!running || running->time < noticeable || running->headway.all == 0) return "";
  const Scenario& scenario = points[at(running->index)].scenario;
  return fmt::format("; {} on {} x {}: {} of {} iterations", scenario.schedule.name, scenario.cluster.nodes, scenario.cluster.name,
                     running->headway.done, running->headway.all);
}

}  // namespace

CandidateRuns::CandidateRuns(const Advice& advice, const Criteria& criteria, RunOptions options)
    : advice_(&advice), criteria_(&criteria), options_(std::move(options)), library_(advice.folder) {}

Scenario CandidateRuns::read_at(const Candidate& candidate, int depth, std::vector<std::pair<std::string, Json>> values,
                                const std::string& origin) {
  values.emplace_back("/cluster", advice_->places[candidate.place].cluster);
  values.emplace_back("/schedule", candidate.schedule);
  values.emplace_back("/cluster/nodes", candidate.nodes);
  if (const Json& hosts = advice_->places[candidate.place].hosts; !hosts.is_null()) values.emplace_back("/cluster/hosts", hosts);
  values.emplace_back("/fidelity", fidelity_of_depth[at(depth)]);
  return read_scenario(advice_->scenario, std::move(values), origin, library_);
}

Point CandidateRuns::point(const Candidate& candidate, std::vector<std::pair<std::string, Json>> values, const std::string& origin) {
  Point point;
  point.scenario = read_at(candidate, Candidate::depths - 1, std::move(values), origin);
  return point;
}

/// The candidate's scenario at that depth, or at the next depth that supports it. Nullopt, and a reason, if none does.
std::optional<std::pair<Scenario, int>> CandidateRuns::read(const Candidate& candidate, int depth, std::string& reason) {
  for (; depth < Candidate::depths; ++depth) {
    try {
      return std::pair(read_at(candidate, depth, {}, ""), depth);
    } catch (const InputError& error) {
      reason = error.what();
    }
  }
  return std::nullopt;
}

std::vector<Outcome> CandidateRuns::run(const std::vector<Point>& points, const std::string& what, const PointOptions& options) {
  std::vector<Outcome> outcomes(points.size());
  std::vector<const Point*> asked;
  asked.reserve(points.size());
  for (const Point& point : points) asked.push_back(&point);
  ProgressBar progress(points.size(), what, options_.shows_progress);
  const auto done = [&](int place, const Outcome& outcome) {
    outcomes[at(place)] = outcome;
    progress.advance();
  };
  const auto show = [&](const PointsProgress& state) { progress.show(state.left, describe(points, state.longest)); };
  simulate_points(asked, options_.jobs, [&options](int /*place*/) { return options; }, done, options_.interrupted, {show, options_.limits});
  if (options_.interrupted()) throw Interrupted();
  return outcomes;
}

void CandidateRuns::refuse(Candidate& candidate, const std::string& reason) {
  candidate.refusal = reason;
  const std::string name = title(candidate, *advice_);
  if (candidate.depth < 0) {
    left_out_.push_back(fmt::format("{}: {}", name, reason));
  } else if (candidate.is_deepest()) {
    notes_.push_back(fmt::format("{} is not considered: {}", name, reason));
  } else {
    notes_.push_back(
        fmt::format("{} is not considered, as it was simulated in {} only: {}", name, to_string(candidate.row.fidelity), reason));
  }
}

void CandidateRuns::simulate(std::vector<Candidate>& candidates, std::vector<std::size_t> indices, int depth) {
  for (; !indices.empty(); ++depth) {
    struct Task {
      std::size_t candidate;
      int depth;
    };
    std::vector<Point> points;
    std::vector<Task> tasks;
    for (const std::size_t index : indices) {
      std::string reason;
      auto found = read(candidates[index], depth, reason);
      if (!found) {
        refuse(candidates[index], reason);
        continue;
      }
      learn(candidates[index], found->first);
      points.emplace_back().scenario = std::move(found->first);
      tasks.push_back({index, found->second});
    }
    const std::vector<Outcome> outcomes = run(points, fmt::format("simulations in {}", fidelity_of_depth[at(depth)]));
    indices.clear();
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      Candidate& candidate = candidates[tasks[i].candidate];
      if (outcomes[i].ok) {
        const PointResult result = PointResult::unpack(outcomes[i].result);
        count(result.fidelity);
        for (int reached = depth; reached <= tasks[i].depth; ++reached) keep(candidate, reached, points[i], result);
      } else if (tasks[i].depth + 1 < Candidate::depths) {
        indices.push_back(tasks[i].candidate);
      } else {
        refuse(candidate, outcomes[i].error);
      }
    }
  }
}

void CandidateRuns::find_ranges(std::vector<Candidate>& candidates, const std::vector<std::size_t>& indices) {
  std::vector<Point> points;
  std::vector<std::size_t> asked;
  for (const std::size_t index : indices) {
    Point its = point(candidates[index]);
    if (!has_range(its.scenario)) continue;
    points.push_back(std::move(its));
    asked.push_back(index);
  }
  if (points.empty()) return;
  const std::vector<Outcome> outcomes = run(points, "simulations over usual networks", {.range = true});
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (!outcomes[i].ok) continue;
    const PointResult result = PointResult::unpack(outcomes[i].result);
    candidates[asked[i]].row.iteration_fast = result.iteration_fast;
    candidates[asked[i]].row.iteration_slow = result.iteration_slow;
  }
}

/// Fills in what the scenario says about the candidate.
void CandidateRuns::learn(Candidate& candidate, const Scenario& scenario) {
  for (const Trace* trace : scenario.traces()) {
    if (!trace->provenance.synthetic() || !estimates_.traces.empty()) continue;
    estimates_.traces.insert(std::filesystem::path(trace->file).stem().string());
    notes_.push_back(fmt::format("the trace of {} is SYNTHETIC, not measured", trace->model));
    estimates_.notes.insert(notes_.back());
  }
  candidate.is_sgd = scenario.schedule.trains_as_sgd(scenario.cluster.workers());
  candidate.samples_factor = criteria_->samples_factor(candidate.origin, candidate.is_sgd);
  candidate.cycle = scenario.schedule.pace.cycle;
  candidate.paid_nodes = scenario.paid_nodes();
}

void CandidateRuns::keep(Candidate& candidate, int depth, const Point& point, const PointResult& result) {
  candidate.iteration[at(depth)] = result.metrics.iteration;
  if (depth < candidate.depth) return;
  candidate.depth = depth;
  candidate.row = make_row(point, result);
  candidate.hours = criteria_->hours(candidate, result.metrics.iteration);
  candidate.cost = criteria_->cost(candidate, candidate.hours);
}

}  // namespace syncopate
