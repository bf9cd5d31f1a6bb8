#include "output/timeline_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "metrics/metrics.hpp"

namespace syncopate {

namespace {

constexpr int compute_track = 1;
constexpr int communication_track = 2;
constexpr int pull_track = 3;
constexpr int node_track = 4;
constexpr int spread_track = 5;
constexpr int further_collectives_track = 10;  ///< and those after it, for collectives in flight together

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
    slice_with(name, category, worker, track, {start, end}, fmt::format(R"("iteration":{}{})", iteration, more));
  }

  /// In the process after those of so many workers.
  void critical(const PathSlice& slice, int workers) {
    slice_with(slice.name, "critical", workers, compute_track, slice.time,
               slice.worker < 0 ? "" : fmt::format(R"("worker":{})", slice.worker));
  }

  const std::string& text() const { return text_; }

 private:
  void slice_with(const std::string& name, const char* category, int worker, int track, const Interval& time, const std::string& args) {
    const std::int64_t from = nanoseconds(time.start);
    const std::int64_t to = nanoseconds(time.end);
    if (to <= from) return;
    add(R"({{"name":{},"cat":"{}","ph":"X","ts":{},"dur":{},"pid":{},"tid":{},"args":{{{}}}}})", quoted(name), category, microseconds(from),
        microseconds(to - from), process(worker), track, args);
  }

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
    case Phase::blocked:
    case Phase::waiting: return "wait";
    case Phase::communicating: return "exposed";
  }
  return "?";
}

std::string title(const std::string& what, int iteration) { return fmt::format("{}, iteration {}", what, iteration); }

void add_part(EventList& events, int worker, const Span& span, bool moving, Seconds from, Seconds to) {
  events.slice(title(moving ? "exposed communication" : "waiting", span.step), moving ? "exposed" : "wait", worker, compute_track, from, to,
               span.step);
}

/// A blocked span as slices: waiting while nothing moves, exposed communication while something does.
void add_blocked(EventList& events, int worker, const Span& span, const std::vector<Interval>& moving) {
  Seconds at = span.start;
  auto next = std::partition_point(moving.begin(), moving.end(), [&](const Interval& one) { return one.end <= span.start; });
  for (; next != moving.end() && next->start < span.end; ++next) {
    add_part(events, worker, span, false, at, next->start);
    const Seconds end = std::min(span.end, next->end);
    add_part(events, worker, span, true, std::max(at, next->start), end);
    at = end;
  }
  add_part(events, worker, span, false, at, span.end);
}

void add_phase(EventList& events, int worker, const Span& span, const std::vector<Interval>& moving) {
  switch (span.phase) {
    case Phase::blocked: return add_blocked(events, worker, span, moving);
    case Phase::waiting: return add_part(events, worker, span, false, span.start, span.end);
    case Phase::communicating: return add_part(events, worker, span, true, span.start, span.end);
    default: break;
  }
  events.slice(title(category(span.phase), span.step), category(span.phase), worker, compute_track, span.start, span.end, span.step);
}

std::string describe(Bytes bytes, const Payload& payload) {
  return fmt::format(R"(,"bytes":{:.0f},"gradients":{})", bytes.value, payload.slices.size());
}

void add_collectives(EventList& events, int worker, const JobTimeline& timeline, Seconds end) {
  std::vector<Seconds> free(1);  ///< per track
  for (const CollectiveSpan& span : timeline.collectives) {
    const Communicator& communicator = timeline.streams[static_cast<std::size_t>(span.stream)];
    if (span.end > end || (timeline.steps.size() > 1 && communicator.member(worker) < 0)) continue;
    const auto found = std::find_if(free.begin(), free.end(), [&](Seconds time) { return time <= span.start; });
    const auto lane = static_cast<int>(found - free.begin());
    const int track = lane == 0 ? communication_track : further_collectives_track + lane;
    if (found == free.end()) {
      free.emplace_back();
      events.name("thread_name", worker, track, fmt::format("communication {}", lane + 1));
    }
    free[static_cast<std::size_t>(lane)] = span.end;
    events.slice(title(span.payload->label, span.round), "collective", worker, track, span.start, span.end, span.round,
                 describe(contribution(span.operation, span.payload->bytes, communicator.size()), *span.payload));
  }
}

void add_transfers(EventList& events, int worker, const std::vector<TransferSpan>& transfers, Seconds end) {
  for (const TransferSpan& span : transfers) {
    if (span.worker != worker || span.end > end) continue;
    const auto slice = [&](int track, const char* what) {
      events.slice(fmt::format("{} {}", what, title(span.payload->label, span.round)), "collective", worker, track, span.start, span.end,
                   span.round, describe(span.payload->bytes, *span.payload));
    };
    switch (span.kind) {
      case TransferSpan::Kind::push: slice(communication_track, "push"); break;
      case TransferSpan::Kind::send: slice(communication_track, "send"); break;
      case TransferSpan::Kind::pull: slice(pull_track, "pull"); break;
      case TransferSpan::Kind::within_node: slice(node_track, "within the node"); break;
      case TransferSpan::Kind::gather: slice(node_track, "reduce"); break;
      case TransferSpan::Kind::spread: slice(spread_track, "spread"); break;
    }
  }
}

std::string describe_worker(int worker, const JobTimeline& timeline) {
  if (timeline.steps.size() == 1 && timeline.workers > 1) return fmt::format("worker 0 (stands for all {})", timeline.workers);
  const std::size_t gpus = static_cast<std::size_t>(timeline.workers) / timeline.steps.size();
  return gpus == 1 ? fmt::format("worker {}", worker) : fmt::format("node {} ({} GPUs)", worker, gpus);
}

void add_worker(EventList& events, int worker, const JobTimeline& timeline, const std::vector<Interval>& moving,
                const StepProfile& profile) {
  events.name("process_name", worker, 0, describe_worker(worker, timeline));
  events.name("thread_name", worker, compute_track, "compute");
  events.name("thread_name", worker, communication_track, "communication");
  if (timeline.serves) events.name("thread_name", worker, pull_track, "pulls");
  const auto has = [&](TransferSpan::Kind kind) {
    return std::any_of(timeline.transfers.begin(), timeline.transfers.end(), [=](const TransferSpan& span) { return span.kind == kind; });
  };
  if (has(TransferSpan::Kind::within_node)) events.name("thread_name", worker, node_track, "within the node");
  if (has(TransferSpan::Kind::gather)) events.name("thread_name", worker, node_track, "reduced within the node");
  if (has(TransferSpan::Kind::spread)) events.name("thread_name", worker, spread_track, "spread within the node");

  const std::vector<Step>& steps = timeline.steps[static_cast<std::size_t>(worker)];
  for (std::size_t step = 0; step < steps.size(); ++step) {
    const int iteration = static_cast<int>(step);
    events.slice(fmt::format("iteration {}", iteration), "step", worker, compute_track, steps[step].start, steps[step].end, iteration);
  }
  // What began after the last complete step was cut off by the end of the run.
  const Seconds end = steps.empty() ? Seconds(0) : steps.back().end;
  add_collectives(events, worker, timeline, end);
  add_transfers(events, worker, timeline.transfers, end);
  for (const Span& span : timeline.spans[static_cast<std::size_t>(worker)]) {
    if (span.end <= end) add_phase(events, worker, span, moving);
  }
  for (const LayerSpan& span : timeline.layers) {
    if (span.worker != worker || span.end > end) continue;
    const std::string& name = profile.layers[static_cast<std::size_t>(span.layer)].name;
    events.slice(title(name, span.step), "layer", worker, compute_track, span.start, span.end, span.step,
                 fmt::format(R"(,"phase":"{}")", category(span.phase)));
  }
}

}  // namespace

std::string timeline_json(const JobTimeline& timeline, const StepProfile& profile, const Point& point, int shown_workers,
                          const std::vector<PathSlice>& path) {
  EventList events;
  const int shown = std::min(shown_workers, static_cast<int>(timeline.steps.size()));
  const std::vector<Interval> moving = moving_intervals(timeline);
  for (int worker = 0; worker < shown; ++worker) add_worker(events, worker, timeline, moving, profile);
  if (!path.empty()) {
    events.name("process_name", shown, 0, "critical path");
    events.name("thread_name", shown, compute_track, "of the measured window");
  }
  for (const PathSlice& slice : path) events.critical(slice, shown);
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
