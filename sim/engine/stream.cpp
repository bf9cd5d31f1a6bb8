#include "engine/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "engine/clock.hpp"

namespace syncopate {

Stream::Stream(int index, int posters, StreamRules rules, Cost cost)
    : index_(index),
      next_(static_cast<std::size_t>(posters)),
      needed_(std::max(1, static_cast<int>(std::ceil(rules.participants * posters - 1e-9)))),
      rules_(rules),
      cost_(std::move(cost)) {}

Handle Stream::post(int poster, const Post& post, Seconds at) {
  Handle& next = next_[static_cast<std::size_t>(poster)];
  const Handle handle = is_partial() ? gathering_ : next;
  if (handle < next) {
    throw SimulationError(fmt::format("rank {} posts again to stream {} before its post has started to move", poster, index_));
  }
  next = handle + 1;
  if (handle == forgotten_ + entries_.size()) {
    entries_.push_back({post, poster});
  } else {
    check_agreement(poster, post, at_handle(handle), handle);
  }
  Entry& entry = at_handle(handle);
  entry.ready = std::max(entry.ready, at);
  ++entry.posts;
  if (is_partial()) {
    if (entry.posts == needed_ && !busy_) call_at(at, [this, at] { dispatch_partial(at); });
    return handle;
  }
  if (entry.posts == needed_) {
    if (rules_.pipelined) {
      const CollectiveTime time = cost_(entry.post, handle);
      move(handle, entry.ready, std::max(entry.ready + time.latency, last_end_) + time.transfer);
    } else {
      upcoming_.push_back(handle);
      dispatch_at(entry.ready);
    }
  }
  return handle;
}

void Stream::check_agreement(int poster, const Post& post, const Entry& entry, Handle handle) const {
  const Post& first = entry.post;
  const bool same_payload = first.payload == post.payload || first.payload->slices == post.payload->slices;
  const bool same_round = is_partial() || first.round == post.round;
  if (same_payload && same_round && first.operation == post.operation && first.group == post.group) return;
  throw SimulationError(
      fmt::format("ranks disagree on collective {} of stream {}: rank {} posted {} of \"{}\" in round {}, rank {} posted {} of \"{}\" in "
                  "round {}; every rank "
                  "must post the same collectives in the same order",
                  handle, index_, entry.first_poster, to_string(first.operation), first.payload->label, first.round, poster,
                  to_string(post.operation), post.payload->label, post.round));
}

Seconds Stream::wait(int poster, Handle handle) {
  if (handle >= next_[static_cast<std::size_t>(poster)]) {
    throw SimulationError(fmt::format("rank {} waits for collective {} of stream {}, which it has not posted", poster, handle, index_));
  }
  if (handle < forgotten_) return Seconds(0);
  Entry& entry = at_handle(handle);
  if (entry.ended) return entry.end;
  Seconds end;
  entry.waiters.push_back({poster, simgrid::s4u::Actor::self(), &end});
  simgrid::s4u::this_actor::suspend();
  return end;
}

bool Stream::has_ended(Handle handle, Seconds time) const {
  constexpr double rounding = 1e-12;
  if (handle < forgotten_) return true;
  const Entry& entry = at_handle(handle);
  return entry.started && entry.end <= time * (1.0 + rounding);
}

bool Stream::is_busy(Seconds time) const {
  if (last_end_ > time) return true;
  // What has been posted at this very instant has not been dispatched yet.
  const auto moves = [&](Handle handle) { return cost_(at_handle(handle).post, handle).total() > Seconds(0); };
  if (is_partial()) return gathering_ < forgotten_ + entries_.size() && at_handle(gathering_).posts >= needed_ && moves(gathering_);
  const bool upcoming =
      std::any_of(upcoming_.begin(), upcoming_.end(), [&](Handle handle) { return at_handle(handle).ready <= time && moves(handle); });
  return upcoming || std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& next) { return moves(next.second); });
}

void Stream::dispatch_at(Seconds time) {
  if (!busy_) call_at(time, [this, time] { dispatch(time); });
}

void Stream::dispatch(Seconds now) {
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

void Stream::dispatch_partial(Seconds now) {
  if (busy_ || gathering_ == forgotten_ + entries_.size() || at_handle(gathering_).posts < needed_) return;
  start(gathering_++, now);
}

void Stream::start(Handle handle, Seconds now) {
  busy_ = true;
  move(handle, now, now + cost_(at_handle(handle).post, handle).total());
}

void Stream::move(Handle handle, Seconds start, Seconds end) {
  Entry& entry = at_handle(handle);
  entry.started = true;
  entry.end = last_end_ = end;
  spans_.push_back({start, end, index_, entry.post.round, entry.post.payload, entry.ready});
  call_at(end, [this, handle] { finish(handle); });
}

void Stream::finish(Handle handle) {
  if (stopped_) return;  // those who wait are gone
  busy_ = false;
  Entry& entry = at_handle(handle);
  entry.ended = true;
  const Seconds end = entry.end;
  for (const Waiter& waiter : std::exchange(entry.waiters, {})) {
    *waiter.end = end;
    waiter.actor->resume();
  }
  for (; !entries_.empty() && entries_.front().ended; entries_.pop_front()) ++forgotten_;
  if (is_partial()) {
    // Those who post at this very instant take part, too.
    call_after(end, [this, end] { dispatch_partial(end); });
  } else {
    dispatch(end);
  }
}

bool Stream::is_awaited_from(int poster) const {
  for (Handle handle = std::max(forgotten_, next_[static_cast<std::size_t>(poster)]); handle < forgotten_ + entries_.size(); ++handle) {
    if (!at_handle(handle).waiters.empty()) return true;
  }
  return false;
}

std::string Stream::describe_waits() const {
  std::string text;
  for (Handle handle = forgotten_; handle < forgotten_ + entries_.size(); ++handle) {
    const Entry& entry = at_handle(handle);
    if (entry.waiters.empty()) continue;
    std::vector<int> waiting;
    for (const Waiter& waiter : entry.waiters) waiting.push_back(waiter.poster);
    std::sort(waiting.begin(), waiting.end());
    std::vector<int> posted;
    std::vector<int> missing;
    for (int poster = 0; poster < static_cast<int>(next_.size()); ++poster) {
      (next_[static_cast<std::size_t>(poster)] > handle ? posted : missing).push_back(poster);
    }
    const Payload& payload = *entry.post.payload;
    text += fmt::format("{}{} {} of stream {} (\"{}\", {} B, round {}) is awaited by {}, posted by {}, not posted by {}",
                        text.empty() ? "" : "; ", to_string(entry.post.operation), handle, index_, payload.label, payload.bytes.value,
                        entry.post.round, describe_ranks(waiting), describe_ranks(posted), describe_ranks(missing));
  }
  return text;
}

}  // namespace syncopate
