#include "run/replicates.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "metrics/confidence.hpp"
#include "output/figures.hpp"

namespace syncopate {

int replicates_of(const Scenario& scenario) { return scenario.draws() ? scenario.replicates : 1; }

Point replicate(const Point& point, int index) {
  Point drawn = point;
  drawn.scenario.speed.seed += static_cast<std::uint64_t>(index);
  return drawn;
}

namespace {

/// Keeps what the replicate says that missed `until` most.
void keep_until_missed(std::span<const PointResult> replicates, Json& details) {
  const auto missed_by = [](const PointResult& replicate) {
    const Json by = replicate.details.value("until_missed", Json(0.0));
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
  PointResult result = replicates.front();
  static_cast<PointFigures&>(result) = mean_of(std::vector<PointFigures>(replicates.begin(), replicates.end()));
  std::vector<double> seconds;
  for (const PointResult& replicate : replicates) {
    result.replicates.push_back(replicate.metrics.iteration);
    seconds.push_back(replicate.metrics.iteration.value);
  }
  result.iteration_half = half_width(seconds) / result.metrics.iteration.value;
  for (std::size_t job = 0; job < result.jobs.size(); ++job) {
    std::vector<JobFigures> figures;
    std::vector<double> iterations;
    for (const PointResult& replicate : replicates) {
      figures.push_back(replicate.jobs[job]);
      iterations.push_back(replicate.jobs[job].iteration.value);
    }
    result.jobs[job] = mean_of(figures);
    result.jobs[job].iteration_half = half_width(iterations) / result.jobs[job].iteration.value;
  }
  keep_until_missed(replicates, result.details);
  return result;
}

}  // namespace syncopate
