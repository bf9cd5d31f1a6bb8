#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "goodput/failures.hpp"

namespace syncopate {

/// When and how checkpoints are written.
struct Checkpoints {
  enum class Rule { fixed, young, daly };
  Rule rule = Rule::daly;
  Seconds every{};  ///< training between two checkpoints, for Rule::fixed
  Seconds write{};  ///< from the begin of a checkpoint until it is complete
  Seconds stall{};  ///< from the begin until training continues; at most `write`
};

/// Delays from a failure until training continues.
struct RestartTimes {
  Seconds detect = Seconds(60.0);    ///< until the failure is noticed
  Seconds restart = Seconds(300.0);  ///< until the job runs again
  Seconds load{};                    ///< until it has loaded a checkpoint, or the state of its neighbours
};

/// The reaction to a failure. Full description: scenarios/LONG_RUNS.md.
struct FailurePolicy {
  enum class Kind {
    restart,    ///< replaces failed nodes at once
    hot_spare,  ///< replaces failed nodes by spares, as long as there are some
    shrink,     ///< continues with the remaining nodes
    per_step,   ///< no restart: the others continue after the last step, as torchft does
  };
  Kind kind = Kind::restart;
  int spares = 0;                         ///< for hot_spare
  Seconds repair = Seconds(24 * 3600.0);  ///< until a failed node is back
  int min_nodes = 1;                      ///< for shrink and per_step: with fewer nodes, wait for repairs

  bool may_shrink() const { return kind == Kind::shrink || kind == Kind::per_step; }
};

/// A run of days in which nodes fail.
struct LongRun {
  std::optional<double> samples{};  ///< to train in total
  double steps = 0.0;               ///< used if `samples` is empty: steps of all nodes
  int nodes = 1;
  std::vector<FailureKind> failures{};
  std::optional<Checkpoints> checkpoints{};
  RestartTimes restart{};
  FailurePolicy policy{};
  int seeds = 100;
};

/// Training speed with a given number of nodes.
struct TrainingSpeed {
  Seconds iteration;
  double samples_per_s = 0.0;

  double samples_per_iteration() const { return samples_per_s * iteration.value; }
};
using SpeedOf = std::function<TrainingSpeed(int nodes)>;

/// Breakdown of a run's time. The parts are disjoint and add up to `total`.
struct RunTimes {
  Seconds total;
  Seconds useful;      ///< time that all nodes would have taken for the samples without disturbance
  Seconds degraded;    ///< extra time because fewer nodes trained
  Seconds lost;        ///< training undone by failures
  Seconds checkpoint;  ///< training stopped for a checkpoint
  Seconds detection;   ///< before a failure was noticed
  Seconds restart;     ///< restarting, loading, waiting for nodes
  std::int64_t failures = 0;
};

/// Simulates a run once. `samples`: to train. `every`: training time between two checkpoints; infinite: no checkpoints (see
/// checkpoint_interval). `speed`: called for each number of nodes that occurs. `seed`: of the failures. Throws SimulationError if the run
/// makes no progress.
RunTimes play(const LongRun& run, double samples, Seconds every, const SpeedOf& speed, std::uint64_t seed);

}  // namespace syncopate
