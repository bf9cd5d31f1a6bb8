#pragma once

#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "cluster/planned.hpp"
#include "run/setup.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

/// A collective of a run.
struct MovingCollective {
  const CollectiveSpan& span;
  const PlannedCollective& planned;
  Interval moving;  ///< if the run has cut it off, as long as one like it did before

  Bytes bytes() const { return span.payload->bytes; }
};
void visit_collectives(const JobTimeline& timeline, PlannedCollectives& planned,
                       const std::function<void(const MovingCollective& collective)>& visit);

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

/// Which links the messages with servers and peers cross.
class CrossedLinks {
 public:
  /// A link's number, and the share of a message's bytes that crosses it.
  using Shares = std::vector<std::pair<std::size_t, double>>;

  CrossedLinks(const JobTimeline& timeline, Setup& setup) : legs_(timeline, setup), network_(setup.network()) {}
  const Shares& operator()(const MessageSpan& message);

 private:
  Legs legs_;
  Network& network_;
  std::map<std::tuple<TransferSpan::Kind, int, int>, Shares> known_;
};

}  // namespace syncopate
