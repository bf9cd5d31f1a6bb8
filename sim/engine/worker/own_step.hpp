#pragma once

#include <utility>
#include <vector>

#include "base/units.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

/// How far a pass is on one device, by how far it is on another: linear between the points where both have done the same.
class PassMap {
 public:
  /// Of a pass that takes `from` and, on the other device, `to`. The points are within that; in any order.
  PassMap(std::vector<std::pair<Seconds, Seconds>> points, Seconds from, Seconds to);

  /// The other device's time when so much of the pass is done.
  Seconds operator()(Seconds done) const;

  /// The slower of both maps at every point. They have the same points on the first device.
  static PassMap slowest(const PassMap& a, const PassMap& b);

 private:
  std::vector<std::pair<Seconds, Seconds>> points_;  // both ascending, from (0, 0) on
};

/// How long a pass takes from where so much is done to there: by the map, or where that is null as the pass counts.
inline Seconds time_between(const PassMap* map, Seconds from, Seconds to) { return map == nullptr ? to - from : (*map)(to) - (*map)(from); }

/// A step on another device than the job's, whose trace is another one of the same model. Programs go on counting in the job's time.
struct OwnStep {
  PassMap forward;   ///< by the ends of layers
  PassMap backward;  ///< by the times at which gradients are ready
  double update;     ///< factor on the update
  double whole;      ///< factor on all of the step

  /// The profiles have as many layers, and the same gradients in the same order.
  OwnStep(const StepProfile& job, const StepProfile& own);
  /// Of a rank that waits for the slower one of two GPUs.
  static OwnStep slowest(const OwnStep& a, const OwnStep& b);

 private:
  OwnStep(PassMap of_forward, PassMap of_backward, double of_update, double of_whole);
};

}  // namespace syncopate
