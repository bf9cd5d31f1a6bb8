#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/processes.hpp"
#include "output/row.hpp"
#include "run/limits.hpp"
#include "run/measured_window.hpp"
#include "run/point_result.hpp"
#include "run/setup.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// Simulates one point in this process, with its own seed, as long as it wants. Throws SimulationError. `lengths`: of its window, if they
/// are known already.
PointResult simulate_point(const Point& point, const PointOptions& options = {}, const std::optional<WindowLengths>& lengths = {});

/// How far simulate_points has come.
struct PointsProgress {
  Seconds left;                        ///< about
  std::optional<RunningTask> longest;  ///< of the points that are being simulated, whose `index` it has, the one that has taken longest
};

/// What happens to points while they are simulated.
struct PointsWatch {
  std::function<void(const PointsProgress&)> look{};  ///< about five times a second
  Limits limits{};                                    ///< a simulation that goes beyond is not begun, or ended, and has failed
  /// Called in that process with the result of a point without replicates; `done` hears of what it leaves there.
  std::function<void(int index, PointResult&)> keep{};
  /// The index of an earlier point whose result this one has, too. It is not simulated then.
  std::function<std::optional<int>(int index)> same_as{};
  std::function<void(const RunningTask&)> stalled{};  ///< a simulation, whose point's `index` it has, does nothing: see Watch
};

/// Simulates them, each with its replicates, in processes forked from this one, `jobs` at a time (0: one per core), those that take longest
/// first if several run at the same time. `options`: of each;
/// `done`, `interrupted`: see run_forked, whose results are packed ones. Fewer than `jobs` at a time where more would not fit in memory;
/// what is beyond the limits fails before anything begins.
void simulate_points(const std::vector<const Point*>& points, int jobs, const std::function<PointOptions(int index)>& options,
                     const std::function<void(int index, const Outcome&)>& done, const std::function<bool()>& interrupted = {},
                     const PointsWatch& watch = {});

/// The row of results that a point and its result make.
Row make_row(const Point& point, const PointResult& result);

}  // namespace syncopate
