#include "engine/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "engine/clock.hpp"

namespace syncopate {

Stream::Stream(int index, int posters, double participants)
    : index_(index),
      next_(static_cast<std::size_t>(posters)),
      needed_(std::max(1, static_cast<int>(std::ceil(participants * posters - 1e-9)))) {}

Handle Stream::post(int poster, const Post& post, Seconds at) {
  Handle& next = next_[static_cast<std::size_t>(poster)];
  const Handle handle = next_for(poster);
  if (handle < next) {
    throw SimulationError(fmt::format("rank {} posts again to stream {} before its post has started to move", poster, index_));
  }
  next = handle + 1;
  if (handle == end_of_entries()) {
    entries_.push_back({post, poster});
  } else {
    check_agreement(poster, post, at_handle(handle), handle);
  }
  Entry& entry = at_handle(handle);
  entry.ready = std::max(entry.ready, at);
  ++entry.posts;
  posted(handle, poster, at);
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
  if (entry.ended) return entry.ends.empty() ? entry.end : *entry.ends[static_cast<std::size_t>(poster)];
  if (!entry.ends.empty()) {
    const auto end = entry.ends[static_cast<std::size_t>(poster)];
    if (end && *end <= clock_now()) return *end;
    if (end) {
      wake_at(*end, simgrid::s4u::Actor::self());
      simgrid::s4u::this_actor::suspend();
      return *end;
    }
  }
  Seconds end;
  entry.waiters.push_back({poster, simgrid::s4u::Actor::self(), &end});
  simgrid::s4u::this_actor::suspend();
  return end;
}

bool Stream::has_ended(int poster, Handle handle, Seconds time) const {
  constexpr double rounding = 1e-12;
  if (handle < forgotten_) return true;
  const Entry& entry = at_handle(handle);
  if (!entry.ends.empty()) {
    const auto end = entry.ends[static_cast<std::size_t>(poster)];
    return end && *end <= time * (1.0 + rounding);
  }
  return entry.started && entry.end <= time * (1.0 + rounding);
}

void Stream::require_no_priority(const Post& post) {
  if (post.priority == 0.0) return;
  throw SimulationError(
      fmt::format("\"{}\" has a priority, and priorities are simulated in alpha-beta fidelity only", post.payload->label));
}

void Stream::note_start(Entry& entry, Seconds start, Seconds end) {
  entry.started = true;
  entry.end = end;
  spans_.push_back({start, end, index_, entry.post.round, entry.post.payload, entry.ready, entry.post.operation});
}

std::vector<CollectiveSpan> Stream::take_spans() {
  note_unfinished();
  std::stable_sort(spans_.begin(), spans_.end(), [](const CollectiveSpan& a, const CollectiveSpan& b) { return a.start < b.start; });
  return std::move(spans_);
}

void Stream::finish(Handle handle) {
  Entry& entry = at_handle(handle);
  entry.ended = true;
  for (const Waiter& waiter : std::exchange(entry.waiters, {})) {
    *waiter.end = entry.ends.empty() ? entry.end : *entry.ends[static_cast<std::size_t>(waiter.poster)];
    waiter.actor->resume();
  }
  for (; !entries_.empty() && entries_.front().ended; entries_.pop_front()) ++forgotten_;
}

void Stream::wake(Entry& entry, int poster) {
  const auto waiter = std::find_if(entry.waiters.begin(), entry.waiters.end(), [&](const Waiter& one) { return one.poster == poster; });
  if (waiter == entry.waiters.end()) return;
  *waiter->end = *entry.ends[static_cast<std::size_t>(poster)];
  waiter->actor->resume();
  entry.waiters.erase(waiter);
}

void Stream::wake_at_ends(Entry& entry) {
  for (const Waiter& waiter : std::exchange(entry.waiters, {})) {
    const Seconds end = *entry.ends[static_cast<std::size_t>(waiter.poster)];
    *waiter.end = end;
    wake_at(end, waiter.actor);
  }
}

void Stream::wake_at(Seconds end, const simgrid::s4u::ActorPtr& actor) {
  call_at(end, [this, actor] {
    if (!stopped_) actor->resume();
  });
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
