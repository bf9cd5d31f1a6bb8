#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "output/timeline_json.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// What the command line says of timelines.
struct TimelineOptions {
  std::string points;  ///< empty: all of them
  std::string ranks;
  std::string iterations;
  std::string format = "json";

  /// Throws UsageError.
  TimelineView view() const;
};

/// Adds --timeline and what goes with it.
CLI::Option* add_timeline_options(CLI::App& command, TimelineOptions& options);

/// Throws UsageError when the view shows nothing of a point.
void check_view(const TimelineView& view, const Point& point);

/// What to tell somebody who is about to get large files of these points; empty where they are not large.
std::string describe_large_timelines(const TimelineView& view, const std::vector<const Point*>& points, bool shortcuts);

}  // namespace syncopate
