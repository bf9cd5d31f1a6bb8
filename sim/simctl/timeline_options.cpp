#include "simctl/timeline_options.hpp"

#include <fmt/format.h>

#include <limits>

#include "base/errors.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "run/cost.hpp"

namespace syncopate {

namespace {

constexpr int most_numbers = 10'000'000;

/// "2" means iterations 0 and 1, "3-4" means iterations 3 and 4.
TimelineView::Iterations read_iterations(const std::string& text) {
  const auto numbers = text.find(',') == std::string::npos ? parse_ranges(text, most_numbers) : std::nullopt;
  const bool is_range = text.find('-') != std::string::npos;
  if (!numbers || (!is_range && numbers->front() == 0)) {
    throw UsageError(fmt::format("--iterations {}: expected how many, from 1 on, or a range from 0 on, such as 3-4", text));
  }
  return is_range ? TimelineView::Iterations{numbers->front(), numbers->back()} : TimelineView::Iterations{0, numbers->front() - 1};
}

}  // namespace

TimelineView TimelineOptions::view() const {
  TimelineView view = {.compressed = format == "json.gz"};
  if (!ranks.empty()) {
    const auto numbers = parse_ranges(ranks, most_numbers);
    if (!numbers) throw UsageError(fmt::format("--ranks {}: expected ascending ranks such as \"0-3,7\"", ranks));
    view.ranks = *numbers;
  }
  if (!iterations.empty()) view.iterations = read_iterations(iterations);
  return view;
}

CLI::Option* add_timeline_options(CLI::App& command, TimelineOptions& options) {
  CLI::Option* timeline = command.add_option("--timeline", options.points,
                                             "write DIR/timeline-<point>.json for Perfetto: of all points, or of these (\"0-3,7\")");
  timeline->expected(0, 1);
  command.add_option("--ranks", options.ranks, "workers in it (\"0-3,7\"; default: the first 8)")->needs(timeline);
  command
      .add_option("--iterations", options.iterations,
                  "measured iterations in it: how many, or which, from 0 on (\"3-4\"); default: the whole run, or the first three of a "
                  "window that chooses its length")
      ->needs(timeline);
  command.add_option("--timeline-format", options.format, "json, or json.gz, which Perfetto reads, too")
      ->check(CLI::IsMember({"json", "json.gz"}))
      ->needs(timeline);
  return timeline;
}

void check_view(const TimelineView& view, const Point& point) {
  const Scenario& scenario = point.scenario;
  if (!view.ranks.empty() && view.ranks.front() >= scenario.cluster.workers()) {
    throw UsageError(fmt::format("--ranks: rank {} is the first one that is wanted, and point {} has ranks 0 to {}", view.ranks.front(),
                                 point.index, scenario.cluster.workers() - 1));
  }
  if (view.iterations && !scenario.measures_until() && view.iterations->first >= scenario.measured) {
    throw UsageError(fmt::format("--iterations: iteration {} is the first one that is wanted, and point {} measures 0 to {}",
                                 view.iterations->first, point.index, scenario.measured - 1));
  }
}

std::string describe_large_timelines(const TimelineView& view, const std::vector<const Point*>& points, bool shortcuts) {
  constexpr Bytes large(100e6);
  Bytes bytes;
  for (const Point* point : points) bytes += estimate_timeline(point->scenario, view, shortcuts);
  if (bytes <= large) return "";
  return fmt::format("the timelines take about {}; --timeline with fewer points, --ranks, --iterations{} make them smaller",
                     format_bytes(bytes), view.compressed ? "" : " and --timeline-format json.gz");
}

}  // namespace syncopate
