#include "run/replicates.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "metrics/confidence.hpp"

namespace syncopate {

int replicates_of(const Scenario& scenario) { return scenario.draws() ? scenario.replicates : 1; }

Point replicate(const Point& point, int index) {
  Point its = point;
  its.scenario.speed.seed += static_cast<std::uint64_t>(index);
  return its;
}

namespace {

/// That of the replicate that missed it most.
void keep_until_missed(std::span<const PointResult> replicates, Json& details) {
  const auto missed_by = [](const PointResult& one) {
    const Json by = one.details.value("until_missed", Json(0.0));
    return by.is_null() ? std::numeric_limits<double>::infinity() : by.get<double>();
  };
  const PointResult& worst = *std::max_element(replicates.begin(), replicates.end(),
                                               [&](const PointResult& a, const PointResult& b) { return missed_by(a) < missed_by(b); });
  for (const char* key : {"until_missed", "until_missed_because"}) {
    if (worst.details.contains(key)) details[key] = worst.details[key];
  }
}

}  // namespace

PointResult mean_of(std::span<const PointResult> replicates) {
  const auto count = static_cast<double>(replicates.size());
  const auto mean = [&](const auto& figure) {
    auto sum = figure(replicates.front());
    for (const PointResult& one : replicates.subspan(1)) sum += figure(one);
    return sum / count;
  };
  const auto mean_metric = [&](auto Metrics::*figure) { return mean([&](const PointResult& one) { return one.metrics.*figure; }); };
  PointResult result = replicates.front();
  const Metrics& first = replicates.front().metrics;
  Metrics& metrics = result.metrics;
  for (const auto figure : {&Metrics::iteration, &Metrics::iteration_p50, &Metrics::iteration_p95, &Metrics::compute, &Metrics::wait,
                            &Metrics::exposed_communication, &Metrics::communication}) {
    metrics.*figure = mean_metric(figure);
  }
  const double speed = first.iteration / metrics.iteration;
  metrics.throughput = speed * first.throughput;
  metrics.speedup = speed * first.speedup;
  metrics.efficiency = speed * first.efficiency;
  metrics.communications_per_iteration = mean_metric(&Metrics::communications_per_iteration);
  metrics.bytes_per_worker_per_iteration = mean_metric(&Metrics::bytes_per_worker_per_iteration);
  metrics.sent_bytes_per_worker = mean_metric(&Metrics::sent_bytes_per_worker);
  metrics.staleness_mean = mean_metric(&Metrics::staleness_mean);
  metrics.wasted_share = mean_metric(&Metrics::wasted_share);
  const auto mean_if_known = [&](std::optional<Bytes> PointResult::*figure) -> std::optional<Bytes> {
    const auto is_known = [&](const PointResult& one) { return (one.*figure).has_value(); };
    if (!std::all_of(replicates.begin(), replicates.end(), is_known)) return std::nullopt;
    return mean([&](const PointResult& one) { return *(one.*figure); });
  };
  result.network_bytes = mean_if_known(&PointResult::network_bytes);
  result.busiest_link_bytes = mean_if_known(&PointResult::busiest_link_bytes);
  for (const PointResult& one : replicates) {
    metrics.staleness_max = std::max(metrics.staleness_max, one.metrics.staleness_max);
    metrics.held_bytes_at_most = std::max(metrics.held_bytes_at_most, one.metrics.held_bytes_at_most);
    result.measured = std::max(result.measured, one.measured);
    result.replicates.push_back(one.metrics.iteration.value);
  }
  result.half_width = half_width(result.replicates) / metrics.iteration.value;
  if (result.goodput) {
    std::vector<Goodput> runs;
    for (const PointResult& one : replicates) runs.push_back(*one.goodput);
    result.goodput = mean_of(runs);
  }
  for (std::size_t job = 0; job < result.jobs.size(); ++job) {
    JobFigures& its = result.jobs[job];
    const auto mean_figure = [&](auto JobFigures::*figure) { return mean([&](const PointResult& one) { return one.jobs[job].*figure; }); };
    const Seconds iteration = mean_figure(&JobFigures::iteration);
    its.throughput = its.iteration / iteration * its.throughput;
    its.iteration = iteration;
    its.alone = mean_figure(&JobFigures::alone);
    its.exposed_communication = mean_figure(&JobFigures::exposed_communication);
  }
  keep_until_missed(replicates, result.details);
  return result;
}

}  // namespace syncopate
