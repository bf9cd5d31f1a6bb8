#pragma once

#include <string>
#include <vector>

#include "cluster/planned.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

/// What crossed one direction of a link in the measured window.
struct LinkLoad {
  std::string name;
  Rate bandwidth;
  Bytes bytes;
  double utilisation = 0.0;  ///< bytes / (bandwidth x window)
};

/// The busiest links first, by utilisation, at most `most` of them; those that nothing crossed are left out. What the window's edges
/// cut counts pro rata. `servers`: ranks of the parameter servers, whose equal parts make up a client's messages.
std::vector<LinkLoad> busiest_links(const JobTimeline& timeline, PlannedCollectives& planned, int ranks, const std::vector<int>& servers,
                                    std::size_t most);

}  // namespace syncopate
