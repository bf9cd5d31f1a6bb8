#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/processes.hpp"
#include "base/units.hpp"
#include "output/timeline_json.hpp"
#include "run/measured_window.hpp"
#include "run/run_counts.hpp"
#include "run/run_plan.hpp"
#include "run/setup.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// What one simulation of a point takes, one replicate where it has several.
struct Cost {
  double steps = 0.0;       ///< gradient steps of all simulated workers, until the measured window has closed
  Seconds time;             ///< on one core
  Bytes memory;             ///< of its process
  bool has_actors = false;  ///< some workers are simulated side by side
};

/// What a point takes, by the counts of the RunPlan, which takes a Setup and may make plans of collectives: once for all estimates. If
/// workers do not wait for each other, steps beside a paused or slow one count; a short simulation tells their paces where it is cheap.
/// What happens once in a run does not count: see below.
class CostEstimate {
 public:
  /// `scenario` must outlive it.
  explicit CostEstimate(const Scenario& scenario, PointOptions options = {});
  CostEstimate(const CostEstimate&) = delete;
  CostEstimate& operator=(const CostEstimate&) = delete;

  /// Lets a short simulation tell the paces of workers that do not wait for each other, if it is cheap. Changes no lengths(): windows are
  /// the same wherever they are chosen.
  void see_paces();
  /// Of a simulation that measures so many iterations.
  Cost of(int measured);
  /// Of the first simulation: `until` may measure more.
  Cost first();
  /// With the most iterations that `until` may measure under the jitter.
  Cost most();
  /// With the longest window that chooses its length: iterations that differ though nothing is drawn may take it. `most`: most().
  Cost with_longest_window(Cost most);
  /// Of a point whose window ends when the mean is steady.
  const WindowLengths& lengths();
  /// How large the file of a timeline gets.
  Bytes timeline(const TimelineView& view);

 private:
  RunPlan plan(int measured);
  /// So many iterations that a mean of independent ones is known as well as is wanted.
  int most_measured();

  const Scenario& scenario_;
  PointOptions options_;
  Scenario fixed_;  ///< measures so many iterations, whatever the mean is known to
  std::unique_ptr<Setup> setup_;
  bool has_failed_ = false;
  std::optional<SeenPaces> paces_;
  std::optional<WindowLengths> lengths_;
};

/// For how long estimates of all points of a command may see paces.
constexpr std::chrono::seconds most_time_to_see_paces(3);

/// CostEstimate::first().
Cost estimate_cost(const Scenario& scenario, const PointOptions& options = {});

/// Once in a run: to start, and to load the actors' library for points that have them.
constexpr Seconds time_to_start(12e-3);
constexpr Seconds time_to_load_actors(15e-3);

/// How large the file of a timeline gets, with that most. `shortcuts`: see PointOptions.
Bytes estimate_timeline(const Scenario& scenario, const TimelineView& view, bool shortcuts);

/// How long it takes until tasks of different cost are done.
class TimeLeft {
 public:
  /// `costs`: what each takes, in proportion at least; `parallel`: so many run at a time.
  TimeLeft(std::vector<Seconds> costs, int parallel);

  void finish(std::size_t task);
  /// `elapsed` since the first has begun. By the pace so far, or, where no task has come anywhere yet, by the costs alone.
  Seconds operator()(Seconds elapsed, const std::vector<RunningTask>& running) const;

 private:
  std::vector<Seconds> costs_;
  Seconds all_;
  Seconds finished_;
  int parallel_;
};

}  // namespace syncopate
