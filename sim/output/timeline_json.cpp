#include "output/timeline_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace syncopate {

namespace {

constexpr int compute_track = 1;
constexpr int communication_track = 2;

/// Rounding both ends of every slice to whole nanoseconds keeps nested slices nested.
std::int64_t nanoseconds(Seconds time) { return std::llround(time.value * 1e9); }

double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

class EventList {
 public:
  void name(const char* what, int process, int track, const std::string& name) {
    events_.push_back({{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", track}, {"args", {{"name", name}}}});
  }

  void slice(const std::string& name, const char* category, int process, int track, Seconds start, Seconds end, Json arguments) {
    const std::int64_t from = nanoseconds(start);
    const std::int64_t to = nanoseconds(end);
    if (to <= from) return;
    events_.push_back({{"name", name},
                       {"cat", category},
                       {"ph", "X"},
                       {"ts", microseconds(from)},
                       {"dur", microseconds(to - from)},
                       {"pid", process},
                       {"tid", track},
                       {"args", std::move(arguments)}});
  }

  Json take() { return std::move(events_); }

 private:
  Json events_ = Json::array();
};

const char* category(Phase phase) {
  switch (phase) {
    case Phase::forward: return "forward";
    case Phase::backward: return "backward";
    case Phase::update: return "update";
    case Phase::blocked: return "wait";
  }
  return "?";
}

std::string title(const std::string& what, int iteration) { return fmt::format("{}, iteration {}", what, iteration); }

/// A blocked span as slices: waiting while nothing moves, exposed communication while something does.
void add_blocked(EventList& events, const Span& span, const std::vector<CollectiveSpan>& collectives) {
  const auto add = [&](const char* what, Seconds from, Seconds to) {
    const char* name = what == std::string_view("wait") ? "waiting" : "exposed communication";
    events.slice(title(name, span.step), what, span.worker, compute_track, from, to, {{"iteration", span.step}});
  };
  Seconds at = span.start;
  const auto first = std::partition_point(collectives.begin(), collectives.end(), [&](const auto& c) { return c.end <= span.start; });
  Seconds exposed_from = at;
  for (auto collective = first; collective != collectives.end() && collective->start < span.end; ++collective) {
    if (collective->start > at) {
      add("exposed", exposed_from, at);
      add("wait", at, collective->start);
      exposed_from = collective->start;
    }
    at = std::min(span.end, std::max(at, collective->end));
  }
  add("exposed", exposed_from, at);
  add("wait", at, span.end);
}

}  // namespace

std::string timeline_json(const JobTimeline& timeline, const StepProfile& profile, const Point& point, int shown_workers) {
  const int shown = std::min(shown_workers, static_cast<int>(timeline.steps.size()));
  EventList events;
  for (int worker = 0; worker < shown; ++worker) {
    const bool stands_for_all = timeline.steps.size() == 1 && timeline.ranks > 1;
    events.name("process_name", worker, 0,
                stands_for_all ? fmt::format("worker 0 (stands for all {})", timeline.ranks) : fmt::format("worker {}", worker));
    events.name("thread_name", worker, compute_track, "compute");
    events.name("thread_name", worker, communication_track, "communication");
    const std::vector<Step>& steps = timeline.steps[static_cast<std::size_t>(worker)];
    for (std::size_t step = 0; step < steps.size(); ++step) {
      const int iteration = static_cast<int>(step);
      events.slice(fmt::format("iteration {}", iteration), "step", worker, compute_track, steps[step].start, steps[step].end,
                   {{"iteration", iteration}});
    }
    // What began after the last complete step was cut off by the end of the run.
    const Seconds end = steps.empty() ? Seconds(0) : steps.back().end;
    for (const CollectiveSpan& span : timeline.collectives) {
      if (span.end > end) continue;
      events.slice(title(span.payload->label, span.round), "collective", worker, communication_track, span.start, span.end,
                   {{"iteration", span.round},
                    {"bytes", static_cast<std::int64_t>(span.payload->bytes.value)},
                    {"gradients", span.payload->slices.size()}});
    }
    for (const Span& span : timeline.spans) {
      if (span.worker != worker || span.end > end) continue;
      if (span.phase == Phase::blocked) {
        add_blocked(events, span, timeline.collectives);
      } else {
        events.slice(title(category(span.phase), span.step), category(span.phase), worker, compute_track, span.start, span.end,
                     {{"iteration", span.step}});
      }
    }
    for (const LayerSpan& span : timeline.layers) {
      if (span.worker != worker || span.end > end) continue;
      events.slice(title(profile.layers[static_cast<std::size_t>(span.layer)].name, span.step), "layer", worker, compute_track, span.start,
                   span.end, {{"iteration", span.step}, {"phase", category(span.phase)}});
    }
  }
  const Scenario& scenario = point.scenario;
  const Json json = {{"displayTimeUnit", "ms"},
                     {"otherData",
                      {{"point", point.index},
                       {"scenario", scenario.name},
                       {"model", scenario.trace->model},
                       {"provenance", scenario.trace->provenance.kind},
                       {"cluster", scenario.cluster.name},
                       {"schedule", scenario.schedule.name},
                       {"nodes", scenario.cluster.nodes},
                       {"window_open_s", timeline.window.open.value},
                       {"window_close_s", timeline.window.close.value}}},
                     {"traceEvents", events.take()}};
  return json.dump() + '\n';
}

}  // namespace syncopate
