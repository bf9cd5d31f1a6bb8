#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/jitter.hpp"
#include "base/units.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

struct Trace;

/// A worker stops computing for a while; what it has posted moves on.
struct Pause {
  int worker = 0;
  Seconds start;
  Seconds end;
};

/// A worker is absent from the end of its step that is under way at `start` until `end`, which may be infinite.
struct Absence {
  int worker = 0;
  Seconds start;
  Seconds end;
};

/// Passes and updates of a worker that begin in a stretch of time take longer. The end may be infinite.
struct SlowSpell {
  int worker = 0;
  Seconds start;
  Seconds end;
  double forward = 1.0;  ///< factors
  double backward = 1.0;
  double update = 1.0;

  double factor(Phase phase) const { return phase == Phase::forward ? forward : phase == Phase::backward ? backward : update; }
  /// It is so from the start of the run to its end.
  bool is_lasting() const;
};

/// How fast the workers of a job are, and when they are present.
struct Speed {
  Jitter jitter;             ///< of a worker's compute, from step to step
  std::vector<double> slow;  ///< per worker, a factor on its compute and update; empty: all 1
  /// Per worker: its device's trace, of the same model; null: the scenario's. Empty: all have the scenario's.
  std::vector<std::shared_ptr<const Trace>> traces;
  std::vector<SlowSpell> spells;   ///< by worker; factors of those that meet are multiplied
  std::vector<Pause> pauses;       ///< in any order
  std::vector<Absence> absences;   ///< those of a worker in the order of time
  double overlap_slowdown = 0.0;   ///< x: a layer that starts while the worker's channel is busy takes 1 + x times as long ...
  bool slowed_by_traffic = false;  ///< ... or 1 + u x times as long; u: share of its collectives' time in which bytes move
  std::uint64_t seed = 1;

  /// Something changes at a time.
  bool has_events() const;
  void clear_events();

  /// Whether all workers do every step in the same time.
  bool uniform() const;

  /// The factor on all of a worker's compute: `slow`.
  double slowness(int worker) const;

  /// The factor on what a worker begins at `now`: `slow` and the spells.
  double slowness(int worker, Phase phase, Seconds now) const;

  /// The factor on a forward or backward pass that a worker begins at `now` in a step: slowness times that step's jitter.
  double compute_factor(int worker, int step, Phase phase, Seconds now) const;

  /// The pauses of those workers, in the order of time, joined where they touch.
  std::vector<Pause> pauses_of(int first_worker, int count) const;

  /// The absences of those workers, likewise: together they are present when all of them are.
  std::vector<Absence> absences_of(int first_worker, int count) const;
};

/// When compute ends that begins at `start`, takes `length`, and stands still in the pauses, which are in the order of time. Compute that
/// ends just when a pause begins has ended.
Seconds end_of_compute(Seconds start, Seconds length, const std::vector<Pause>& pauses);

/// `time`, or the end of the pause in which it is.
Seconds end_of_pause(Seconds time, const std::vector<Pause>& pauses);

}  // namespace syncopate
