#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

/// By how much something might have ended later, and no worker ended its last step later than it did: the total float of the critical path
/// method (Kelley and Walker, 1959), where all else lasts as long as it did, collectives start in the order in which they did, each once
/// all its ranks have posted it, and a rank ends it as long after that as it did. What ends on the critical path has a slack of 0.
class Slack {
 public:
  /// Knows nothing of a timeline without ties.
  explicit Slack(const JobTimeline& timeline);

  /// Of timeline.collectives; nothing where a worker waits for it after its last step, or not at all.
  std::optional<Seconds> of_collective(std::size_t index) const;

  /// Of what a worker does until `end`; nothing after its last step.
  std::optional<Seconds> of_worker(int worker, Seconds end) const;

 private:
  /// What a worker does until `end` might end so much later.
  struct Stretch {
    Seconds end;
    Seconds slack;
  };

  std::vector<Seconds> collectives_;           ///< infinite: nothing waits
  std::vector<std::vector<Stretch>> workers_;  ///< in the order of time
};

}  // namespace syncopate
