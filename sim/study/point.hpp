#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/processes.hpp"
#include "output/row.hpp"
#include "scenario/scenario.hpp"
#include "study/setup.hpp"

namespace syncopate {

/// What a point's simulation gives.
struct PointResult {
  Metrics metrics;
  /// Per gradient step: between nodes, and over the busiest link's busiest direction; unknown where no messages are simulated.
  std::optional<Bytes> network_bytes{};
  std::optional<Bytes> busiest_link_bytes{};
  Fidelity fidelity = Fidelity::alpha_beta;
  int workers_simulated = 0;
  int measured = 0;                  ///< iterations
  std::vector<double> replicates{};  ///< seconds per iteration of each one of which this is the mean; empty where it is one itself
  /// Half of the 95% interval of the mean iteration, over it; empty where nothing is drawn, or too little was measured to tell.
  std::optional<double> half_width{};
  Json details = Json::object();  ///< what only some points have: see RESULTS.md
  std::string timeline;           ///< a file's content, when wanted: see timeline_json

  /// As bytes for another process of this program, and back.
  std::string pack() const;
  static PointResult unpack(const std::string& bytes);
};

/// Simulates one point in this process, with its own seed, as long as it wants. Throws SimulationError.
PointResult simulate_point(const Point& point, const PointOptions& options = {});

/// How far simulate_points has come.
struct PointsProgress {
  Seconds left;                        ///< about
  std::optional<RunningTask> longest;  ///< of the points that are being simulated, whose `index` it has, the one that has taken longest
};

/// What happens to points while they are simulated.
struct PointsWatch {
  std::function<void(const PointsProgress&)> look{};  ///< about five times a second
  std::optional<Seconds> most_time{};                 ///< a simulation that takes longer is ended, and has failed
};

/// Simulates them, each with its replicates, in processes forked from this one, `jobs` at a time (0: one per core). `options`: of each;
/// `done`, `interrupted`: see run_forked, whose results are packed ones.
void simulate_points(const std::vector<const Point*>& points, int jobs, const std::function<PointOptions(int index)>& options,
                     const std::function<void(int index, const Outcome&)>& done, const std::function<bool()>& interrupted = {},
                     const PointsWatch& watch = {});

/// The row of results that a point and its result make.
Row make_row(const Point& point, const PointResult& result);

}  // namespace syncopate
