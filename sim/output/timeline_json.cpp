#include "output/timeline_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace syncopate {

namespace {

constexpr int compute_track = 1;
constexpr int communication_track = 2;

/// Rounding both ends of every slice to whole nanoseconds keeps nested slices nested.
std::int64_t nanoseconds(Seconds time) { return std::llround(time.value * 1e9); }

/// The list of events as text, formatted one by one: a document in memory would be ten times as large.
class EventList {
 public:
  void name(const char* what, int worker, int track, const std::string& name) {
    add(R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"name":{}}}}})", what, process(worker), track, quoted(name));
  }

  /// `more`: further members of args, such as `,"bytes":4`.
  void slice(const std::string& name, const char* category, int worker, int track, Seconds start, Seconds end, int iteration,
             const std::string& more = "") {
    const std::int64_t from = nanoseconds(start);
    const std::int64_t to = nanoseconds(end);
    if (to <= from) return;
    add(R"({{"name":{},"cat":"{}","ph":"X","ts":{},"dur":{},"pid":{},"tid":{},"args":{{"iteration":{}{}}}}})", quoted(name), category,
        microseconds(from), microseconds(to - from), process(worker), track, iteration, more);
  }

  const std::string& text() const { return text_; }

 private:
  /// Perfetto gives process 0 a meaning of its own.
  static int process(int worker) { return worker + 1; }

  static std::string quoted(const std::string& text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

  static std::string microseconds(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    text_ += text_.empty() ? "\n" : ",\n";
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }

  std::string text_;
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
void add_blocked(EventList& events, int worker, const Span& span, const std::vector<CollectiveSpan>& collectives) {
  const auto add = [&](const char* what, Seconds from, Seconds to) {
    const char* name = what == std::string_view("wait") ? "waiting" : "exposed communication";
    events.slice(title(name, span.step), what, worker, compute_track, from, to, span.step);
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

void add_worker(EventList& events, int worker, const JobTimeline& timeline, const StepProfile& profile) {
  const bool stands_for_all = timeline.steps.size() == 1 && timeline.ranks > 1;
  events.name("process_name", worker, 0,
              stands_for_all ? fmt::format("worker 0 (stands for all {})", timeline.ranks) : fmt::format("worker {}", worker));
  events.name("thread_name", worker, compute_track, "compute");
  events.name("thread_name", worker, communication_track, "communication");

  const std::vector<Step>& steps = timeline.steps[static_cast<std::size_t>(worker)];
  for (std::size_t step = 0; step < steps.size(); ++step) {
    const int iteration = static_cast<int>(step);
    events.slice(fmt::format("iteration {}", iteration), "step", worker, compute_track, steps[step].start, steps[step].end, iteration);
  }
  // What began after the last complete step was cut off by the end of the run.
  const Seconds end = steps.empty() ? Seconds(0) : steps.back().end;
  for (const CollectiveSpan& span : timeline.collectives) {
    if (span.end > end) continue;
    events.slice(title(span.payload->label, span.round), "collective", worker, communication_track, span.start, span.end, span.round,
                 fmt::format(R"(,"bytes":{:.0f},"gradients":{})", span.payload->bytes.value, span.payload->slices.size()));
  }
  for (const Span& span : timeline.spans[static_cast<std::size_t>(worker)]) {
    if (span.end > end) continue;
    if (span.phase == Phase::blocked) {
      add_blocked(events, worker, span, timeline.collectives);
    } else {
      events.slice(title(category(span.phase), span.step), category(span.phase), worker, compute_track, span.start, span.end, span.step);
    }
  }
  for (const LayerSpan& span : timeline.layers) {
    if (span.worker != worker || span.end > end) continue;
    const std::string& name = profile.layers[static_cast<std::size_t>(span.layer)].name;
    events.slice(title(name, span.step), "layer", worker, compute_track, span.start, span.end, span.step,
                 fmt::format(R"(,"phase":"{}")", category(span.phase)));
  }
}

}  // namespace

std::string timeline_json(const JobTimeline& timeline, const StepProfile& profile, const Point& point, int shown_workers) {
  EventList events;
  const int shown = std::min(shown_workers, static_cast<int>(timeline.steps.size()));
  for (int worker = 0; worker < shown; ++worker) add_worker(events, worker, timeline, profile);
  const Scenario& scenario = point.scenario;
  const Json about = {{"point", point.index},
                      {"scenario", scenario.name},
                      {"model", scenario.trace->model},
                      {"provenance", scenario.trace->provenance.kind},
                      {"cluster", scenario.cluster.name},
                      {"schedule", scenario.schedule.name},
                      {"nodes", scenario.cluster.nodes},
                      {"window_open_s", timeline.window.open.value},
                      {"window_close_s", timeline.window.close.value}};
  return fmt::format(R"({{"displayTimeUnit":"ms","otherData":{},"traceEvents":[{}]}})",
                     about.dump(-1, ' ', false, Json::error_handler_t::replace), events.text()) +
         '\n';
}

}  // namespace syncopate
