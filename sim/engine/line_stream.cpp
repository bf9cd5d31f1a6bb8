#include "engine/line_stream.hpp"

#include <algorithm>

#include "engine/clock.hpp"

namespace syncopate {

LineStream::LineStream(int index, int posters, StreamRules rules, Cost cost)
    : Stream(index, posters, rules.participants), rules_(rules), cost_(std::move(cost)) {}

void LineStream::posted(Handle handle, int /*poster*/, Seconds at) {
  const Entry& entry = at_handle(handle);
  if (is_partial()) {
    if (entry.posts == needed() && !busy_) call_at(at, [this, at] { dispatch_partial(at); });
  } else if (entry.posts == needed()) {
    if (rules_.pipelined) {
      const CollectiveTime time = cost_(entry.post, handle);
      move(handle, entry.ready, std::max(entry.ready + time.latency, last_end_) + time.transfer);
    } else {
      upcoming_.push_back(handle);
      dispatch_at(entry.ready);
    }
  }
}

bool LineStream::is_busy(int /*poster*/, Seconds time) const {
  if (last_end_ > time) return true;
  // What has been posted at this very instant has not been dispatched yet.
  const auto moves = [&](Handle handle) { return cost_(at_handle(handle).post, handle).total() > Seconds(0); };
  if (is_partial()) return gathering_ < end_of_entries() && at_handle(gathering_).posts >= needed() && moves(gathering_);
  const bool upcoming =
      std::any_of(upcoming_.begin(), upcoming_.end(), [&](Handle handle) { return at_handle(handle).ready <= time && moves(handle); });
  return upcoming || std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& next) { return moves(next.second); });
}

void LineStream::dispatch_at(Seconds time) {
  if (!busy_) call_at(time, [this, time] { dispatch(time); });
}

void LineStream::dispatch(Seconds now) {
  if (busy_) return;
  for (; !upcoming_.empty() && at_handle(upcoming_.front()).ready <= now; upcoming_.pop_front()) {
    waiting_.emplace(at_handle(upcoming_.front()).post.priority, upcoming_.front());
  }
  if (!waiting_.empty()) {
    start(waiting_.extract(waiting_.begin()).value().second, now);
  } else if (!upcoming_.empty()) {
    dispatch_at(at_handle(upcoming_.front()).ready);
  }
}

void LineStream::dispatch_partial(Seconds now) {
  if (busy_ || gathering_ == end_of_entries() || at_handle(gathering_).posts < needed()) return;
  start(gathering_++, now);
}

void LineStream::start(Handle handle, Seconds now) {
  busy_ = true;
  move(handle, now, now + cost_(at_handle(handle).post, handle).total());
}

void LineStream::move(Handle handle, Seconds start, Seconds end) {
  note_start(at_handle(handle), start, end);
  last_end_ = end;
  call_at(end, [this, handle] { this->end(handle); });
}

void LineStream::end(Handle handle) {
  if (is_stopped()) return;  // those who wait are gone
  busy_ = false;
  const Seconds now = at_handle(handle).end;
  finish(handle);
  if (is_partial()) {
    // Those who post at this very instant take part, too.
    call_after(now, [this, now] { dispatch_partial(now); });
  } else {
    dispatch(now);
  }
}

}  // namespace syncopate
