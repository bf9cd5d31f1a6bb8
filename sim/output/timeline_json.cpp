#include "output/timeline_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "base/indexed.hpp"
#include "metrics/metrics.hpp"
#include "metrics/slack.hpp"
#include "output/message_tracks.hpp"
#include "output/trace_events.hpp"

namespace syncopate {

namespace {

constexpr int compute_track = 1;
constexpr int communication_track = 2;
constexpr int pull_track = 3;
constexpr int node_track = 4;
constexpr int spread_track = 5;
constexpr Interval always = {Seconds(-std::numeric_limits<double>::infinity()), Seconds(std::numeric_limits<double>::infinity())};
constexpr int further_collectives_track = 10;  ///< and those after it, for collectives in flight together

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

std::string describe(Bytes bytes, const Payload& payload) {
  return fmt::format(R"(,"bytes":{:.0f},"gradients":{})", bytes.value, payload.slices.size());
}

/// To the nanosecond, as the slices' times.
std::string describe(std::optional<Seconds> slack) { return slack ? fmt::format(R"(,"slack_us":{:.3f})", slack->value * 1e6) : ""; }

std::string describe_worker(int worker, const JobTimeline& timeline, const std::vector<std::string>& hosts) {
  if (timeline.steps.size() == 1 && timeline.workers > 1) return fmt::format("worker 0 (stands for all {})", timeline.workers);
  const std::size_t gpus = at(timeline.workers) / timeline.steps.size();
  const std::string name = gpus == 1 ? fmt::format("worker {}", worker) : fmt::format("node {} ({} GPUs)", worker, gpus);
  return hosts.empty() ? name : fmt::format("{}, {}", name, hosts[at(worker)]);
}

/// When a worker with these steps is shown; no time at all where it has not done those iterations.
Interval shown_time(const std::vector<Step>& steps, const Window& window, const std::optional<TimelineView::Iterations>& iterations) {
  if (!iterations) return always;
  const auto measured =
      std::find_if(steps.begin(), steps.end(), [&](const Step& step) { return step.start >= window.open * (1.0 - rounding); });
  const auto count = static_cast<int>(steps.end() - measured);
  if (iterations->first >= count) return {};
  return {measured[iterations->first].start, measured[std::min(iterations->last, count - 1)].end};
}

/// Compute that goes on after a post is one span, which its layers fit into.
std::vector<Span> join_compute(const std::vector<Span>& spans) {
  std::vector<Span> joined;
  for (const Span& span : spans) {
    const bool goes_on = !joined.empty() && is_compute(span.phase) && joined.back().phase == span.phase &&
                         joined.back().step == span.step && joined.back().end == span.start;
    if (goes_on) {
      joined.back().end = span.end;
    } else {
      joined.push_back(span);
    }
  }
  return joined;
}

/// Draws one worker.
class WorkerTracks {
 public:
  /// `rounds`: what it sends goes by rounds, not steps.
  WorkerTracks(int worker, const JobTimeline& timeline, const Slack& slack, const StepProfile& profile, const Interval& shown, bool rounds,
               TraceEvents& events)
      : worker_(worker),
        timeline_(timeline),
        slack_(slack),
        profile_(profile),
        shown_(shown),
        rounds_(rounds),
        events_(events),
        backward_(profile.layers.size()) {
    const std::vector<Step>& steps = timeline.steps[at(worker)];
    // What began after the last complete step was cut off by the end of the run.
    end_ = steps.empty() ? Seconds(0) : steps.back().end;
    for (const LayerSpan& span : timeline.layers) {
      if (span.worker == worker && span.phase == Phase::backward) backward_[at(span.layer)].push_back(span);
    }
  }

  /// `moving`: when bytes of anybody move.
  void draw(const std::vector<Interval>& moving) {
    add_names();
    add_steps();
    add_collectives();
    add_transfers();
    for (const Span& span : join_compute(timeline_.spans[at(worker_)])) {
      if (is_shown({span.start, span.end})) add_phase(span, moving);
    }
    for (const LayerSpan& span : timeline_.layers) {
      if (span.worker != worker_ || !is_shown({span.start, span.end})) continue;
      slice(profile_.layers[at(span.layer)].name, "layer", compute_track, {span.start, span.end}, span.step,
            fmt::format(R"(,"phase":"{}"{})", category(span.phase), describe(slack_.of_worker(worker_, span.end))));
    }
  }

 private:
  bool is_shown(const Interval& time) const { return time.end <= end_ && time.end > shown_.start && time.start < shown_.end; }

  /// `more`: further members of args.
  void slice(const std::string& name, const char* category, int track, const Interval& time, int iteration, const std::string& more = "") {
    events_.slice(name, category, worker_, track, time, fmt::format(R"("iteration":{}{})", iteration, more));
  }

  void add_names() {
    const auto track = [this](int number, const std::string& name) { events_.name("thread_name", worker_, number, name); };
    const auto has = [this](TransferSpan::Kind kind) {
      return std::any_of(timeline_.transfers.begin(), timeline_.transfers.end(),
                         [=](const TransferSpan& span) { return span.kind == kind; });
    };
    track(compute_track, "compute");
    track(communication_track, "communication");
    if (timeline_.serves) track(pull_track, "pulls");
    if (has(TransferSpan::Kind::within_node)) track(node_track, "within the node");
    if (has(TransferSpan::Kind::gather)) track(node_track, "reduced within the node");
    if (has(TransferSpan::Kind::spread)) track(spread_track, "spread within the node");
  }

  void add_steps() {
    const std::vector<Step>& steps = timeline_.steps[at(worker_)];
    for (std::size_t step = 0; step < steps.size(); ++step) {
      const Interval time = {steps[step].start, steps[step].end};
      if (is_shown(time)) slice("iteration", "step", compute_track, time, static_cast<int>(step));
    }
  }

  void add_collectives() {
    std::vector<Seconds> free(1);  ///< per track
    for (std::size_t i = 0; i < timeline_.collectives.size(); ++i) {
      const CollectiveSpan& span = timeline_.collectives[i];
      const Communicator& communicator = timeline_.streams[at(span.stream)];
      if (!is_shown({span.start, span.end}) || (timeline_.steps.size() > 1 && communicator.member(worker_) < 0)) continue;
      const auto found = std::find_if(free.begin(), free.end(), [&](Seconds time) { return time <= span.start; });
      const auto lane = static_cast<int>(found - free.begin());
      const int track = lane == 0 ? communication_track : further_collectives_track + lane;
      if (found == free.end()) {
        free.emplace_back();
        events_.name("thread_name", worker_, track, fmt::format("communication {}", lane + 1));
      }
      free[at(lane)] = span.end;
      slice(span.payload->label, "collective", track, {span.start, span.end}, span.round,
            describe(contribution(span.operation, span.payload->bytes, communicator.size()), *span.payload) +
                describe(slack_.of_collective(i)));
      add_arrows(*span.payload, span.round, track, span.start);
    }
  }

  void add_transfers() {
    for (const TransferSpan& span : timeline_.transfers) {
      if (span.worker != worker_ || !is_shown({span.start, span.end})) continue;
      const auto moves = [&](int track, const char* what) {
        slice(fmt::format("{} {}", what, span.payload->label), "collective", track, {span.start, span.end}, span.round,
              describe(span.payload->bytes, *span.payload));
      };
      switch (span.kind) {
        case TransferSpan::Kind::push:
          moves(communication_track, "push");
          add_arrows(*span.payload, span.round, communication_track, span.start);
          break;
        case TransferSpan::Kind::send: moves(communication_track, "send"); break;
        case TransferSpan::Kind::pull: moves(pull_track, "pull"); break;
        case TransferSpan::Kind::within_node: moves(node_track, "within the node"); break;
        case TransferSpan::Kind::gather: moves(node_track, "reduce"); break;
        case TransferSpan::Kind::spread: moves(spread_track, "spread"); break;
      }
    }
  }

  /// From the backward of every layer whose gradients start to move.
  void add_arrows(const Payload& payload, int round, int track, Seconds start) {
    std::set<std::size_t> layers;
    for (const Slice& part : payload.slices) layers.insert(profile_.gradients[at(part.tensor)].layer);
    for (const std::size_t layer : layers) {
      const LayerSpan* const span = backward_before(layer, round, start);
      if (span != nullptr && is_shown({span->start, span->end})) {
        events_.arrow(worker_, compute_track, {span->start, span->end}, track, start);
      }
    }
  }

  /// The layer's backward in that step or, where rounds are counted, its last one that has begun by then; null where there is none.
  const LayerSpan* backward_before(std::size_t layer, int round, Seconds time) const {
    const std::vector<LayerSpan>& spans = backward_[layer];
    const auto later = std::partition_point(spans.begin(), spans.end(),
                                            [&](const LayerSpan& span) { return span.start < time && (rounds_ || span.step <= round); });
    if (later == spans.begin()) return nullptr;
    const LayerSpan& span = *std::prev(later);
    return rounds_ || span.step == round ? &span : nullptr;
  }

  void add_part(const Span& span, bool moving, const Interval& time) {
    slice(moving ? "exposed communication" : "waiting", moving ? "exposed" : "wait", compute_track, time, span.step);
  }

  /// A blocked span as slices: waiting while nothing moves, exposed communication while something does.
  void add_blocked(const Span& span, const std::vector<Interval>& moving) {
    Seconds from = span.start;
    auto next = std::partition_point(moving.begin(), moving.end(), [&](const Interval& interval) { return interval.end <= span.start; });
    for (; next != moving.end() && next->start < span.end; ++next) {
      add_part(span, false, {from, next->start});
      const Seconds end = std::min(span.end, next->end);
      add_part(span, true, {std::max(from, next->start), end});
      from = end;
    }
    add_part(span, false, {from, span.end});
  }

  void add_phase(const Span& span, const std::vector<Interval>& moving) {
    switch (span.phase) {
      case Phase::blocked: return add_blocked(span, moving);
      case Phase::waiting: return add_part(span, false, {span.start, span.end});
      case Phase::communicating: return add_part(span, true, {span.start, span.end});
      default: break;
    }
    slice(category(span.phase), category(span.phase), compute_track, {span.start, span.end}, span.step);
  }

  int worker_;
  const JobTimeline& timeline_;
  const Slack& slack_;
  const StepProfile& profile_;
  Interval shown_;
  bool rounds_;
  TraceEvents& events_;
  Seconds end_;
  std::vector<std::vector<LayerSpan>> backward_;  ///< by layer, in the order of time
};

/// As a process after those of the workers.
void add_path(const std::vector<PathSlice>& path, const std::vector<int>& workers, const Interval& shown, TraceEvents& events) {
  if (path.empty()) return;
  const int process = workers.back() + 1;
  events.name("process_name", process, 0, "critical path");
  events.name("thread_name", process, compute_track, "of the measured window");
  int computing = -1;  // the worker that the last slice was of
  for (const PathSlice& slice : path) {
    if (slice.time.end <= shown.start || slice.time.start >= shown.end) continue;
    events.slice(slice.name, "critical", process, compute_track, slice.time,
                 slice.worker < 0 ? "" : fmt::format(R"("worker":{})", slice.worker));
    const Seconds middle = 0.5 * (slice.time.start + slice.time.end);
    const int worker = slice.computes && std::binary_search(workers.begin(), workers.end(), slice.worker) ? slice.worker : -1;
    if (worker >= 0 && worker != computing) events.arrow(process, compute_track, worker, compute_track, middle);
    computing = worker;
  }
}

/// Each link once, and how it was used as percentages and how many stretches each lasts, links that were used alike together.
std::string describe(const LinkTable& table) {
  const auto quoted = [](const std::string& text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); };
  std::map<std::string, std::string> alike;  // names of the links, by their use
  for (const LinkTable::Link& link : table.links) {
    std::string use;
    std::size_t count = 0;
    for (std::size_t bin = 0; bin < table.bins; ++bin) {
      ++count;
      const auto rounded = [&](std::size_t one) { return std::llround(1000 * link.utilisation[one]); };
      if (bin + 1 < table.bins && rounded(bin + 1) == rounded(bin)) continue;
      fmt::format_to(std::back_inserter(use), "{}{:g},{}", use.empty() ? "" : ",", static_cast<double>(rounded(bin)) / 10, count);
      count = 0;
    }
    std::string& names = alike[use];
    fmt::format_to(std::back_inserter(names), R"({}{{"name":{},"cable":{},"bandwidth_Bps":{}}})", names.empty() ? "" : ",",
                   quoted(link.name), quoted(link.cable), Json(link.bandwidth.value).dump());
  }
  std::string text;
  for (const auto& [use, names] : alike)
    fmt::format_to(std::back_inserter(text), "{}\n{{\"links\":[{}],\"percent\":[{}]}}", text.empty() ? "" : ",", names, use);
  return fmt::format(R"({{"from_us":{:.3f},"to_us":{:.3f},"stretches":{},"use":[{}]}})", table.shown.start.value * 1e6,
                     table.shown.end.value * 1e6, table.bins, text);
}

/// As a process after all others.
void add_links(const std::vector<LinkUse>& links, int process, const Interval& shown, TraceEvents& events) {
  if (links.empty()) return;
  events.name("process_name", process, 0, "busiest links");
  for (const LinkUse& link : links) {
    const std::string name = link.name + (link.others_alike ? " and others alike" : "");
    const std::string unit = fmt::format("% of {:.4g} Gb/s", link.bandwidth.value * 8 / 1e9);
    std::string before;
    const auto set = [&](Seconds time, double utilisation) {
      const std::string percent = fmt::format("{:.9g}", 100 * utilisation);
      if (percent != before) events.counter(name, process, time, unit, percent);
      before = percent;
    };
    const Seconds start = std::max(Seconds(0), shown.start);
    const auto first =
        std::partition_point(link.changes.begin(), link.changes.end(), [&](const auto& change) { return change.at <= start; });
    set(start, first == link.changes.begin() ? 0.0 : std::prev(first)->utilisation);
    for (auto change = first; change != link.changes.end() && change->at < shown.end; ++change) set(change->at, change->utilisation);
    if (shown.end < always.end) set(shown.end, 0.0);
  }
}

}  // namespace

void TimelineView::shorten(const Scenario& scenario) {
  constexpr int usually = 3;
  iterations = {0, std::min(scenario.measured, std::max(usually, scenario.schedule.pace.cycle)) - 1};
  is_shortened = true;
}

std::vector<int> TimelineView::workers(int simulated, int gpus) const {
  constexpr int most_unasked = 8;
  std::vector<int> shown;
  if (ranks.empty()) {
    shown.resize(at(std::min(most_unasked, simulated)));
    std::iota(shown.begin(), shown.end(), 0);
  }
  for (const int rank : ranks) {
    const int worker = rank / gpus;
    if (worker < simulated && (shown.empty() || shown.back() != worker)) shown.push_back(worker);
  }
  return shown;
}

Interval shown_time(const JobTimeline& timeline, const TimelineView& view) {
  const auto simulated = static_cast<int>(timeline.steps.size());
  Interval all = {always.end, always.start};
  for (const int worker : view.workers(simulated, timeline.workers / simulated)) {
    const std::vector<Step>& steps = timeline.steps[at(worker)];
    const Interval shown = shown_time(steps, timeline.window, view.iterations);
    if (shown.end > shown.start && !steps.empty())
      all = {std::min(all.start, shown.start), std::max(all.end, std::min(shown.end, steps.back().end))};
  }
  return all.end > all.start ? Interval{std::max(Seconds(0), all.start), all.end} : Interval();
}

std::string timeline_json(const JobTimeline& timeline, const StepProfile& profile, const Point& point, const TimelineView& view,
                          const std::vector<PathSlice>& path, const NetworkView& network) {
  TraceEvents events;
  const auto simulated = static_cast<int>(timeline.steps.size());
  const std::vector<int> workers = view.workers(simulated, timeline.workers / simulated);
  const std::vector<Interval> moving = moving_intervals(timeline);
  const Scenario& scenario = point.scenario;
  const Slack slack(timeline);
  Interval all = {always.end, always.start};
  MessageTracks messages(timeline, network.link_names);
  for (const int worker : workers) {
    const Interval shown = shown_time(timeline.steps[at(worker)], timeline.window, view.iterations);
    messages.show(worker, shown);
    if (shown.end > shown.start) all = {std::min(all.start, shown.start), std::max(all.end, shown.end)};
    events.name("process_name", worker, 0, describe_worker(worker, timeline, network.hosts));
    WorkerTracks(worker, timeline, slack, profile, shown, scenario.schedule.pace.steps_per_round > 0, events).draw(moving);
  }
  messages.draw(events);
  if (!workers.empty()) add_path(path, workers, all, events);
  if (all.end > all.start) add_links(network.busiest, workers.back() + 2, all, events);
  Json about = {{"point", point.index},
                {"scenario", scenario.name},
                {"model", scenario.trace->model},
                {"provenance", scenario.trace->provenance.kind},
                {"cluster", scenario.cluster.name},
                {"schedule", scenario.schedule.name},
                {"nodes", scenario.cluster.nodes},
                {"window_open_s", timeline.window.open.value},
                {"window_close_s", timeline.window.close.value}};
  if (view.is_shortened) {
    const int shown = view.iterations->last + 1;
    about["left_out"] = fmt::format("Only the first {} here; --iterations all keeps the whole run.",
                                    shown == 1 ? "measured iteration is" : fmt::format("{} measured iterations are", shown));
  }
  if (!network.missing_messages.empty()) about["messages"] = network.missing_messages;
  return fmt::format(R"({{"displayTimeUnit":"ms","otherData":{},"traceEvents":[{}]{}}})",
                     about.dump(-1, ' ', false, Json::error_handler_t::replace), events.text(),
                     network.links.links.empty() ? "" : ",\"links\":" + describe(network.links)) +
         '\n';
}

}  // namespace syncopate
