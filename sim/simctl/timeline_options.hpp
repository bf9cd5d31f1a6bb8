#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "output/timeline_json.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// Command-line options for timelines.
struct TimelineOptions {
  std::string points;  ///< empty: all of them
  std::string ranks;
  std::string iterations;
  std::string format = "json";

  /// Throws UsageError.
  TimelineView view() const;
};

/// Adds --timeline and the options that need it. Returns --timeline.
CLI::Option* add_timeline_options(CLI::App& command, TimelineOptions& options);

/// Throws UsageError when the view shows nothing of a point.
void check_view(const TimelineView& view, const Point& point);

/// A warning if the timelines of these points are estimated to exceed 100 MB in all; else empty.
std::string describe_large_timelines(const TimelineView& view, const std::vector<const Point*>& points, bool shortcuts);

}  // namespace syncopate
