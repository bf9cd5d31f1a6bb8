#pragma once

#include <string>
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

/// How all links were used while something is shown. Where a collective's messages were kept, the bytes of each are spread over its own
/// time. network_load() must have been called, so that all links are known.
LinkTable use_of_all_links(const JobTimeline& timeline, Setup& setup, const Interval& shown);

/// Why messages of collectives are missing from a timeline, in sentences; "" if none are.
std::string describe_missing_messages(const Job& job, const JobTimeline& timeline, const Setup& setup);

}  // namespace syncopate
