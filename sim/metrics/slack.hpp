#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

/// How much later something could end without any worker ending its last step later: the total float of the critical path method (Kelley
/// and Walker, 1959). All else lasts as long as it did. Collectives start in the same order, each once all its ranks have posted it, and a
/// rank ends it as long after that as it did. What ends on the critical path has a slack of 0.
class Slack {
 public:
  /// A timeline without ties gives no slack.
  explicit Slack(const JobTimeline& timeline);

  /// By the index in timeline.collectives; empty if workers wait for it only after the last step, or not at all.
  std::optional<Seconds> of_collective(std::size_t index) const;

  /// Of what a worker does until `end`; empty after its last step.
  std::optional<Seconds> of_worker(int worker, Seconds end) const;

 private:
  /// What a worker does until `end` could end `slack` later.
  struct Stretch {
    Seconds end;
    Seconds slack;
  };

  std::vector<Seconds> collectives_;           ///< infinite: nothing waits
  std::vector<std::vector<Stretch>> workers_;  ///< in the order of time
};

}  // namespace syncopate
