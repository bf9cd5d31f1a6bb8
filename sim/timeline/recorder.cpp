#include "timeline/recorder.hpp"

#include <algorithm>
#include <utility>

namespace syncopate {

namespace {

/// Adds an interval that begins no earlier than those before it; one that continues the last makes it longer.
void append(std::vector<Interval>& intervals, Interval next) {
  if (next.end <= next.start) return;
  if (!intervals.empty() && next.start <= intervals.back().end) {
    intervals.back().end = std::max(intervals.back().end, next.end);
  } else {
    intervals.push_back(next);
  }
}

bool with_servers(TransferSpan::Kind kind) { return kind == TransferSpan::Kind::push || kind == TransferSpan::Kind::pull; }

}  // namespace

Recorder::Recorder(int workers, int shown, Seconds compute) : shown_(shown), past_window_(index(workers)), busy_(index(workers)) {
  timeline_.compute = compute;
  timeline_.steps.resize(index(workers));
  timeline_.spans.resize(index(workers));
  timeline_.channels.resize(index(workers));
  timeline_.server_traffic.resize(index(workers));
}

void Recorder::open_window(Seconds now) {
  timeline_.window.open = now;
  timeline_.window.has_opened = true;
}

void Recorder::close_window(Seconds now) { timeline_.window.close = now; }

void Recorder::begin_step(int worker, Seconds now) {
  std::vector<Step>& steps = timeline_.steps[index(worker)];
  if (has_left_window(worker)) {
    steps.back() = {.start = now};
    return;
  }
  if (!steps.empty()) steps.back().end = now;
  steps.push_back({.start = now});
}

void Recorder::phase(int worker, const Span& span) {
  if (has_left_window(worker)) return;
  std::vector<Span>& spans = timeline_.spans[index(worker)];
  const auto continues = [&](const Span& last) { return last.phase == span.phase || (is_compute(last.phase) && is_compute(span.phase)); };
  if (!is_shown(worker) && !spans.empty() && continues(spans.back())) {
    spans.back().end = span.end;
  } else {
    spans.push_back(span);
  }
}

void Recorder::layer(const LayerSpan& span) {
  if (is_shown(span.worker)) timeline_.layers.push_back(span);
}

void Recorder::post(int worker, int posts, Bytes bytes) {
  step(worker).posts += posts;
  step(worker).bytes += posts * bytes;
}

void Recorder::update(int worker, double staleness) {
  Step& its = step(worker);
  ++its.updates;
  its.staleness += staleness;
  its.staleness_max = std::max(its.staleness_max, staleness);
}

void Recorder::transfer(const TransferSpan& span) {
  const bool serves = with_servers(span.kind);
  if (serves ? has_closed_by(span.start) : has_left_window(span.worker)) return;
  append(busy_[index(span.worker)][index(span.kind)], {span.start, span.end});
  const Seconds since = std::max(span.start, timeline_.window.open);
  if (timeline_.window.has_opened && span.end > since) {
    const Bytes inside = (span.end - since) / (span.end - span.start) * span.payload->bytes;
    ServerTraffic& traffic = timeline_.server_traffic[index(span.worker)];
    if (span.kind == TransferSpan::Kind::push) traffic.pushed += inside;
    if (span.kind == TransferSpan::Kind::pull) traffic.pulled += inside;
    if (span.kind == TransferSpan::Kind::send) timeline_.peer_traffic[{span.worker, span.to}] += inside;
  }
  if (is_shown(span.worker)) timeline_.transfers.push_back(span);
}

void Recorder::cut_off(int worker, TransferSpan::Kind kind, Interval moving) { append(busy_[index(worker)][index(kind)], moving); }

void Recorder::serve(const Interval& work) {
  if (!has_closed_by(work.start)) append(timeline_.server_work, work);
}

JobTimeline Recorder::take(int workers, bool serves, std::vector<Communicator> streams, std::vector<CollectiveSpan> collectives) {
  timeline_.workers = workers;
  timeline_.serves = serves;
  timeline_.streams = std::move(streams);
  timeline_.collectives = std::move(collectives);
  if (!serves) timeline_.server_traffic.clear();
  for (std::vector<Step>& steps : timeline_.steps) steps.pop_back();
  for (std::size_t worker = 0; worker < busy_.size(); ++worker) {
    std::vector<Interval>& all = timeline_.channels[worker];
    for (const std::vector<Interval>& kind : busy_[worker]) all.insert(all.end(), kind.begin(), kind.end());
    busy_[worker] = {};
  }
  return std::move(timeline_);
}

}  // namespace syncopate
