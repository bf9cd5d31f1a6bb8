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
  Seconds every{};  ///< of training between two of them, where the rule is `fixed`
  Seconds write{};  ///< from the begin of one until it is complete
  Seconds stall{};  ///< at most `write`: from its begin until training goes on
};

/// How long it takes to train again after a failure.
struct RestartTimes {
  Seconds detect = Seconds(60.0);    ///< until it is noticed
  Seconds restart = Seconds(300.0);  ///< until the job runs
  Seconds load{};                    ///< until it has a checkpoint, or its neighbours' state
};

/// What is done about a failure; scenarios/LONG_RUNS.md says it in full.
struct FailurePolicy {
  enum class Kind {
    restart,    ///< with other nodes at once
    hot_spare,  ///< with spares, while there are any
    shrink,     ///< with the nodes that are left
    per_step,   ///< no restart: the others go on after the last step, as in torchft
  };
  Kind kind = Kind::restart;
  int spares = 0;                         ///< of hot_spare
  Seconds repair = Seconds(24 * 3600.0);  ///< until a failed node is back
  int min_nodes = 1;                      ///< of shrink and per_step: fewer wait for repairs

  bool may_shrink() const { return kind == Kind::shrink || kind == Kind::per_step; }
};

/// A run of days in which nodes fail.
struct LongRun {
  std::optional<double> samples{};  ///< that are to be trained
  double steps = 0.0;               ///< of all nodes, where no samples are said
  int nodes = 1;
  std::vector<FailureKind> failures{};
  std::optional<Checkpoints> checkpoints{};
  RestartTimes restart{};
  FailurePolicy policy{};
  int seeds = 100;
};

/// How fast so many nodes train.
struct TrainingSpeed {
  Seconds iteration;
  double samples_per_s = 0.0;

  double samples_per_iteration() const { return samples_per_s * iteration.value; }
};
using SpeedOf = std::function<TrainingSpeed(int nodes)>;

/// Where the time of a run went; but for `total`, no two of them count the same second, and they add up to it.
struct RunTimes {
  Seconds total;
  Seconds useful;      ///< what all nodes would have taken for the samples, undisturbed
  Seconds degraded;    ///< beyond that, as fewer nodes trained them
  Seconds lost;        ///< training that a failure undid
  Seconds checkpoint;  ///< training stood still for one
  Seconds detection;   ///< nobody had noticed a failure yet
  Seconds restart;     ///< restarting, loading, waiting for nodes
  std::int64_t failures = 0;
};

/// Plays the run once: `samples` of them, with a checkpoint `every` so much training (infinite: none; see checkpoint_interval), at the
/// speeds that `speed` says of all numbers of nodes that come about, with the failures that `seed` draws. Throws SimulationError where it
/// does not get ahead.
RunTimes play(const LongRun& run, double samples, Seconds every, const SpeedOf& speed, std::uint64_t seed);

}  // namespace syncopate
