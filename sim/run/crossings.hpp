#pragma once

#include <functional>
#include <vector>

#include "cluster/planned.hpp"
#include "run/setup.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

/// Calls `visit` with every collective, and when it moves its bytes: if the run has cut it off, as long as one like it did before.
void visit_collectives(const JobTimeline& timeline, PlannedCollectives& planned,
                       const std::function<void(const PlannedCollective& collective, const Interval& moving, Bytes bytes)>& visit);

/// From one rank to another, or a server: the share of a message's bytes that goes there.
struct Leg {
  int from;
  int to;
  double share;
};

/// Where messages of simulated workers go, and those of the ranks that they stand for.
class Legs {
 public:
  Legs(const JobTimeline& timeline, const Setup& setup);

  /// `to`: the receiver of what is sent.
  std::vector<Leg> of(TransferSpan::Kind kind, int worker, int to = -1) const;

 private:
  int ranks_;
  int stands_for_;
  const std::vector<int>& servers_;
};

}  // namespace syncopate
