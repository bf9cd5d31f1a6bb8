#pragma once

#include <string>
#include <vector>

#include "output/timeline_json.hpp"
#include "run/links.hpp"
#include "run/setup.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

/// A job of a run, and what happened to it.
struct JobInRun {
  const JobTimeline& timeline;
  Setup& setup;
  bool keeps_all = true;  ///< the timeline has all messages with servers and peers
};

/// How links were used while something is shown.
struct LinksInUse {
  std::vector<LinkUse> busiest;  ///< those that are used alike are one
  LinkTable table;               ///< of all links
};

/// By the bytes of all the run's jobs, the links of which must have the same numbers. A message counts at the rates that it had, which the
/// timeline may tell; else its bytes are spread evenly over its time, and those of a collective whose messages were not kept over the
/// collective's. `is_limited`: messages share the links, so that what is spread that way and exceeds a link's bandwidth moves later. A link
/// of `busiest` that changes very often has the means of the table's stretches.
LinksInUse links_in_use(const std::vector<LinkLoad>& busiest, const std::vector<JobInRun>& jobs, const Interval& shown, bool is_limited);

/// Why messages of collectives are missing from a timeline, in sentences; "" if none are.
std::string describe_missing_messages(const Job& job, const JobTimeline& timeline, const Setup& setup);

}  // namespace syncopate
