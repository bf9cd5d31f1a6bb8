#pragma once

#include <string>
#include <vector>

#include "study/setup.hpp"
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
/// cut counts pro rata.
std::vector<LinkLoad> busiest_links(const JobTimeline& timeline, Setup& setup, std::size_t most);

}  // namespace syncopate
