#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

/// The figures of one job, per gradient step of one worker, over its measured window.
struct Metrics {
  Seconds iteration;              ///< window x workers / gradient steps done in it
  Seconds iteration_p50;          ///< median over the pooled steps of all workers
  Seconds iteration_p95;          ///< 95th percentile likewise
  Seconds compute;                ///< undisturbed forward + backward + update
  Seconds wait;                   ///< for a rank that has not posted, or lost to slowness
  Seconds exposed_communication;  ///< blocked while bytes move
  Seconds communication;          ///< the worker's channels are busy
  double throughput = 0.0;        ///< samples/s of all workers
  double speedup = 0.0;           ///< throughput over that of one worker that only computes
  double efficiency = 0.0;        ///< speedup / workers
  double communications_per_iteration = 0.0;
  Bytes bytes_per_worker_per_iteration;
  Bytes sent_bytes_per_worker;  ///< per gradient step, what a rank of a ring sends
  Bytes gathered_peak;          ///< most gathered parameters of a rank at a time, in the whole run
  double staleness_mean = 0.0;
  double staleness_max = 0.0;
  double wasted_share = 0.0;  ///< share of the compute whose gradients came too late
};

/// Derives the metrics from what happened. `batch`: samples per worker and step. Of a step that an edge of the window cuts, everything
/// counts pro rata: itself, its posts, its compute and its waits. wait + compute + exposed_communication = iteration.
Metrics measure(const JobTimeline& timeline, std::int64_t batch);

/// A window of so many cycles of the schedule is cut into equal slices of whole cycles: up to 59 cycles a slice each, else 30 to 59 slices.
int slices_of(int cycles);
/// The fewest slices from which a 95% interval holds the mean about as often as 95%.
inline constexpr int enough_slices = 30;

/// Half of the 95% interval of the mean iteration, as a share of it, from the gradient steps done in equal slices of the window and their
/// autocorrelation. `cycles`: of the schedule, in the window. `events`: what happens at given times is no sample, so slices that it
/// touches, and the one after each of these, do not count. Empty if fewer than three slices are left.
std::optional<double> relative_half_width(const JobTimeline& timeline, int cycles, const std::vector<Interval>& events = {});

/// Seconds per second of the window by which collectives fall behind their posts. Above 0 they queue up faster than they move, and the
/// window is not in the steady state yet. It has a meaning only for schedules that wait for a collective in a later step than they post it.
double backlog_growth(const JobTimeline& timeline);

/// When something moved, or a server worked, that a blocked worker may wait for: disjoint, in the order of time.
std::vector<Interval> moving_intervals(const JobTimeline& timeline);

/// How many all-reduces took 1, 2, ... local steps from their post until they were mixed in, of those that were in the window
/// (LASGD, Table 2). Empty where nothing is mixed in.
std::vector<int> count_local_steps(const JobTimeline& timeline);

}  // namespace syncopate
