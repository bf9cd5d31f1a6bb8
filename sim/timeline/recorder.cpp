#include "timeline/recorder.hpp"

#include <algorithm>
#include <utility>

namespace syncopate {

namespace {

/// Adds an interval, which must not begin before the last one. If it continues the last one, that one becomes longer.
void append(std::vector<Interval>& intervals, Interval next) {
  if (next.end <= next.start) return;
  if (!intervals.empty() && next.start <= intervals.back().end) {
    intervals.back().end = std::max(intervals.back().end, next.end);
  } else {
    intervals.push_back(next);
  }
}

}  // namespace

Recorder::Recorder(int workers, const std::vector<int>& shown, Seconds compute, bool keeps_messages)
    : keeps_messages_(keeps_messages),
      held_(at(workers)),
      shown_(at(workers)),
      past_window_(at(workers)),
      absent_since_(at(workers)),
      busy_(at(workers)) {
  for (const int worker : shown) shown_[at(worker)] = true;
  timeline_.compute = compute;
  timeline_.steps.resize(at(workers));
  timeline_.spans.resize(at(workers));
  timeline_.absences.resize(at(workers));
  timeline_.channels.resize(at(workers));
  timeline_.server_traffic.resize(at(workers));
}

void Recorder::open_window(Seconds now) {
  timeline_.window.open = now;
  std::erase_if(sent_, [now](const MessageSpan& message) { return message.moving.end <= now; });
  timeline_.window.has_opened = true;
  if (shown_time_ && std::find(shown_.begin(), shown_.end(), true) != shown_.end()) shown_time_->open_window(now);
}

void Recorder::close_window(Seconds now) { timeline_.window.close = now; }

void Recorder::begin_step(int worker, Seconds now) {
  if (shown_time_ && is_shown(worker)) shown_time_->begin_step(worker, now);
  std::vector<Step>& steps = timeline_.steps[at(worker)];
  if (has_left_window(worker)) {
    steps.back() = {.start = now};
    return;
  }
  if (absent_since_[at(worker)]) {
    timeline_.absences[at(worker)].push_back({*absent_since_[at(worker)], now});
    absent_since_[at(worker)].reset();
  } else if (!steps.empty()) {
    steps.back().end = now;
  }
  steps.push_back({.start = now});
}

void Recorder::leave(int worker, Seconds now) {
  if (has_left_window(worker)) return;
  absent_since_[at(worker)] = now;
  std::vector<Step>& steps = timeline_.steps[at(worker)];
  if (!steps.empty()) steps.back().end = now;
}

void Recorder::layer(const LayerSpan& span) {
  if (is_shown(span.worker) && !has_left_window(span.worker) && !is_past(span.start)) timeline_.layers.push_back(span);
}

void Recorder::transfer(int worker, TransferSpan::Kind kind, int round, const Interval& moving, const SharedPayload& payload, int to) {
  using Kind = TransferSpan::Kind;
  const bool serves = kind == Kind::push || kind == Kind::pull;
  const bool leaves_node = serves || kind == Kind::send;
  append(busy_[at(worker)][index(kind)], moving);
  if (leaves_node ? has_closed_by(moving.start) : has_left_window(worker)) return;
  if (serves) {
    const Window& window = timeline_.window;
    const Seconds since = std::max(moving.start, window.open);
    const Seconds until = has_closed_by(moving.end) ? window.close : moving.end;
    if (window.has_opened && until > since) {
      ServerTraffic& traffic = timeline_.server_traffic[at(worker)];
      (kind == Kind::push ? traffic.pushed : traffic.pulled) += (until - since) / (moving.end - moving.start) * payload->bytes;
    }
    if (keeps_messages_ && !is_past(moving.start)) timeline_.messages.push_back({moving, worker, to, kind, payload->bytes});
  }
  if (kind == Kind::send) send(worker, to, moving, payload->bytes);
  if (is_shown(worker) && !is_past(moving.start))
    timeline_.transfers.push_back({moving.start, moving.end, worker, round, kind, payload, to});
}

void Recorder::send(int worker, int to, const Interval& moving, Bytes bytes) {
  if (has_closed_by(moving.start)) return;
  const MessageSpan message = {moving, worker, to, TransferSpan::Kind::send, bytes};
  if (!timeline_.window.has_opened || moving.end > timeline_.window.open) sent_.push_back(message);
  if (keeps_messages_ && !is_past(moving.start)) timeline_.messages.push_back(message);
}

void Recorder::cut_off(int worker, TransferSpan::Kind kind, Interval moving) { append(busy_[at(worker)][index(kind)], moving); }

void Recorder::serve(const Interval& work) { append(timeline_.server_work, work); }

JobTimeline Recorder::take(int workers, bool serves, std::vector<Communicator> streams, std::vector<CollectiveSpan> collectives) {
  timeline_.workers = workers;
  timeline_.serves = serves;
  timeline_.streams = std::move(streams);
  timeline_.collectives = std::move(collectives);
  if (!serves) timeline_.server_traffic.clear();
  if (collective_messages_) collective_messages_->hand_over(timeline_);
  for (const MessageSpan& message : sent_)
    timeline_.peer_traffic[{message.worker, message.to}] += timeline_.window.share(message.moving) * message.bytes;
  for (std::size_t worker = 0; worker < timeline_.steps.size(); ++worker) {
    if (absent_since_[worker]) {
      timeline_.absences[worker].push_back({*absent_since_[worker], std::max(*absent_since_[worker], timeline_.window.close)});
    } else {
      timeline_.steps[worker].pop_back();
    }
  }
  for (std::size_t worker = 0; worker < busy_.size(); ++worker) {
    std::vector<Interval>& all = timeline_.channels[worker];
    for (const std::vector<Interval>& kind : busy_[worker]) all.insert(all.end(), kind.begin(), kind.end());
    busy_[worker] = {};
  }
  return std::move(timeline_);
}

}  // namespace syncopate
