#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/units.hpp"
#include "output/timeline_json.hpp"
#include "run/setup.hpp"

namespace syncopate {

/// What an iteration's critical path consists of: all pieces of a kind together.
struct PathShare {
  std::string kind;  ///< "compute", "update", "compression", "latency", "transfer", "reduce", "host", "server", "queue", "straggler",
                     ///< "jitter", "overlap_slowdown" or "pause"
  std::string what;  ///< "layers.NAME.forward", "link", "worker 3", ...; may be empty
  Seconds seconds;   ///< all shares add up to the iteration; one of jitter may be below 0
};

/// Longest first. `timeline`: of a run that has recorded causes; its window's seconds are scaled to `iteration`.
std::vector<PathShare> path_shares(const JobTimeline& timeline, const Setup& setup, Seconds iteration);

/// What is of one kind and has one name, added up; longest first.
std::vector<PathShare> summed(const std::vector<PathShare>& shares);

/// The path's pieces one after the other, through the measured window.
std::vector<PathSlice> path_slices(const JobTimeline& timeline, const Setup& setup);

Json to_json(const std::vector<PathShare>& shares);
std::vector<PathShare> path_shares_of(const Json& json);

}  // namespace syncopate
