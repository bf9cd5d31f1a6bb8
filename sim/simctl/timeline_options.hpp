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

/// What the timelines of points show.
struct TimelineViews {
  std::vector<TimelineView> views;  ///< in the order of the points
  std::string note;                 ///< if they are estimated to exceed 100 MB in all, or something is left out of them; else empty
};

/// Where the view leaves open what of the run is shown, no timeline is estimated to exceed its share of 200 MB if its first iterations do
/// not: those that would are of these only.
TimelineViews plan_timelines(const TimelineView& view, const std::vector<const Point*>& points, bool shortcuts);

}  // namespace syncopate
