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
    throw UsageError(fmt::format(R"(--iterations {}: expected how many, from 1 on, a range from 0 on, such as 3-4, or "all")", text));
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
  view.is_whole = iterations == "all";
  if (!iterations.empty() && !view.is_whole) view.iterations = read_iterations(iterations);
  return view;
}

CLI::Option* add_timeline_options(CLI::App& command, TimelineOptions& options) {
  CLI::Option* timeline = command.add_option("--timeline", options.points,
                                             "write DIR/timeline-<point>.json for Perfetto: of all points, or of these (\"0-3,7\")");
  timeline->expected(0, 1);
  command.add_option("--ranks", options.ranks, "workers in it (\"0-3,7\"; default: the first 8)")->needs(timeline);
  command
      .add_option("--iterations", options.iterations,
                  "measured iterations in it: how many, or which, from 0 on (\"3-4\"), or the whole run (\"all\"); default: the whole run, "
                  "or the first three where it is large or its window chooses its length")
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

TimelineViews plan_timelines(const TimelineView& view, const std::vector<const Point*>& points, bool shortcuts) {
  constexpr Bytes large(100e6);
  constexpr Bytes most(200e6);
  TimelineViews planned;
  Bytes whole;
  Bytes kept;
  std::size_t shortened = 0;
  for (const Point* point : points) {
    TimelineView& its = planned.views.emplace_back(view);
    if (view.is_open() && point->scenario.chooses_window && point->scenario.measures_until()) its.shorten(point->scenario);
    const Bytes bytes = estimate_timeline(point->scenario, its, shortcuts);
    whole += bytes;
    if (its.is_open() && bytes > most / static_cast<double>(points.size())) {
      its.shorten(point->scenario);
      ++shortened;
      kept += estimate_timeline(point->scenario, its, shortcuts);
    } else {
      kept += bytes;
    }
  }
  if (shortened > 0) {
    planned.note = fmt::format(
        "the timelines take about {}, as {} show only the first measured iterations; those of the whole runs, with --iterations all, take "
        "about {}",
        format_bytes(kept), shortened == points.size() ? "they" : fmt::format("{} of {}", shortened, points.size()), format_bytes(whole));
  } else if (whole > large) {
    planned.note = fmt::format("the timelines take about {}; --timeline with fewer points, --ranks, --iterations{} make them smaller",
                               format_bytes(whole), view.compressed ? "" : " and --timeline-format json.gz");
  }
  return planned;
}

}  // namespace syncopate
