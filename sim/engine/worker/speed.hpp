#pragma once

#include <cstdint>
#include <vector>

#include "base/jitter.hpp"
#include "base/units.hpp"

namespace syncopate {

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

/// How fast the workers of a job are, and when they are present.
struct Speed {
  Jitter jitter;                   ///< of a worker's compute, from step to step
  std::vector<double> slow;        ///< per worker, a factor on its compute and update; empty: all 1
  std::vector<Pause> pauses;       ///< in any order
  std::vector<Absence> absences;   ///< those of a worker in the order of time
  double overlap_slowdown = 0.0;   ///< x: a layer that starts while the worker's channel is busy takes 1 + x times as long ...
  bool slowed_by_traffic = false;  ///< ... or 1 + u x times as long; u: share of its collectives' time in which bytes move
  std::uint64_t seed = 1;

  bool has_events() const { return !pauses.empty() || !absences.empty(); }
  void clear_events() {
    pauses.clear();
    absences.clear();
  }

  /// Whether all workers do every step in the same time.
  bool uniform() const;

  /// The factor on a worker's update.
  double slowness(int worker) const;

  /// The factor on a worker's forward and backward in a step: slowness times that step's jitter.
  double compute_factor(int worker, int step) const;

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
