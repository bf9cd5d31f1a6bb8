#pragma once

#include <vector>

#include "output/timeline_json.hpp"
#include "run/links.hpp"
#include "run/setup.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

/// How these links were used over time: by each collective's bytes that cross them, spread evenly from its start to its end, and so by
/// those of each message with a server or a peer, which the timeline must have kept. Over the measured window that adds up to the loads.
/// Those that are used alike are one.
std::vector<LinkUse> use_over_time(const std::vector<LinkLoad>& links, const JobTimeline& timeline, Setup& setup);

}  // namespace syncopate
