#include "run/play_run.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <vector>

#include "base/errors.hpp"
#include "goodput/checkpoint_interval.hpp"
#include "goodput/long_run.hpp"
#include "metrics/confidence.hpp"
#include "output/figures.hpp"
#include "run/point.hpp"

namespace syncopate {

namespace {

TrainingSpeed speed_of(const Metrics& metrics) { return {metrics.iteration, metrics.throughput}; }

/// The speeds of all numbers of nodes that are asked for, each simulated once.
class Speeds {
 public:
  Speeds(const Point& point, const PointResult& result, const PointOptions& options) : point_(point), options_(options.without_files()) {
    known_[point.scenario.cluster.nodes] = speed_of(result.metrics);
  }

  const TrainingSpeed& operator()(int nodes) {
    const auto found = known_.find(nodes);
    return found == known_.end() ? known_.emplace(nodes, simulate(nodes)).first->second : found->second;
  }

 private:
  TrainingSpeed simulate(int nodes) const try {
    Point smaller = {point_.index, point_.sweep, point_.scenario.of_nodes(nodes)};
    smaller.scenario.speed.seed = point_.scenario.speed.seed;
    return speed_of(simulate_point(smaller, options_).metrics);
  } catch (const SimulationError& error) {
    throw SimulationError(
        fmt::format("with {} of {} nodes, which its run comes to: {}", nodes, point_.scenario.cluster.nodes, error.what()));
  }

  const Point& point_;
  PointOptions options_;
  std::map<int, TrainingSpeed> known_;
};

Goodput goodput_of(const RunTimes& times, double samples) {
  Goodput goodput;
  goodput.samples_per_s = samples / times.total.value;
  goodput.total = times.total;
  goodput.effective_time_ratio = times.useful / times.total;
  goodput.checkpoint_share = times.checkpoint / times.total;
  goodput.lost_share = times.lost / times.total;
  goodput.detection_share = times.detection / times.total;
  goodput.restart_share = times.restart / times.total;
  goodput.degraded_share = times.degraded / times.total;
  goodput.failures = static_cast<double>(times.failures);
  return goodput;
}

}  // namespace

Goodput play_run(const Point& point, const PointResult& result, std::uint64_t first_seed, const PointOptions& options) {
  const LongRun& run = *point.scenario.run;
  Speeds speeds(point, result, options);
  const SpeedOf speed = [&](int nodes) { return speeds(nodes); };
  const TrainingSpeed full = speed(run.nodes);
  const double samples = run.samples ? *run.samples : run.steps * full.samples_per_iteration();
  const Seconds every = checkpoint_interval(run, full.iteration);
  std::vector<PointFigures> plays;
  std::vector<double> ratios;
  std::vector<double> totals;
  const int seeds = run.failures.empty() ? 1 : run.seeds;
  for (int seed = 0; seed < seeds; ++seed) {
    const Goodput goodput = goodput_of(play(run, samples, every, speed, first_seed + static_cast<std::uint64_t>(seed)), samples);
    ratios.push_back(goodput.effective_time_ratio);
    totals.push_back(goodput.total.value);
    plays.emplace_back().goodput = goodput;
  }
  Goodput mean = *mean_of(plays).goodput;
  if (!std::isfinite(mean.total.value)) throw SimulationError("the run takes longer than a number can hold");
  if (run.checkpoints) mean.checkpoint_every = every;
  if (seeds > 1) {
    mean.ratio_half = half_width(ratios);
    mean.total_half = Seconds(half_width(totals));
  }
  return mean;
}

}  // namespace syncopate
