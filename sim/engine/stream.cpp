#include "engine/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <simgrid/kernel/Timer.hpp>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace syncopate {

using simgrid::kernel::timer::Timer;

Handle Stream::post(int poster, const Post& post, Seconds at) {
  const Handle handle = next_[static_cast<std::size_t>(poster)]++;
  if (handle == entries_.size()) {
    entries_.push_back({post, poster});
  } else {
    check_agreement(poster, post, entries_[handle], handle);
  }
  Entry& entry = entries_[handle];
  entry.ready = std::max(entry.ready, at);
  if (++entry.posts == static_cast<int>(next_.size())) {
    queue_.push_back(handle);
    dispatch_at(entry.ready);
  }
  return handle;
}

void Stream::check_agreement(int poster, const Post& post, const Entry& entry, Handle handle) const {
  const Post& first = entry.post;
  const bool same_payload = first.payload == post.payload || first.payload->slices == post.payload->slices;
  if (same_payload && first.round == post.round && first.operation == post.operation && first.group == post.group) return;
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
  if (!entries_[handle].ended) {
    entries_[handle].waiters.push_back({poster, simgrid::s4u::Actor::self()});
    simgrid::s4u::this_actor::suspend();
  }
  return entries_[handle].end;
}

void Stream::dispatch_at(Seconds time) {
  if (!busy_) Timer::set(time.value, [this, time] { dispatch(time); });
}

void Stream::dispatch(Seconds now) {
  if (busy_ || queue_.empty()) return;
  const auto before = [this](Handle a, Handle b) {
    const double priority_a = entries_[a].post.priority;
    const double priority_b = entries_[b].post.priority;
    return priority_a != priority_b ? priority_a < priority_b : a < b;
  };
  auto best = queue_.end();
  Seconds soonest = entries_[queue_.front()].ready;
  for (auto candidate = queue_.begin(); candidate != queue_.end(); ++candidate) {
    soonest = std::min(soonest, entries_[*candidate].ready);
    if (entries_[*candidate].ready <= now && (best == queue_.end() || before(*candidate, *best))) best = candidate;
  }
  if (best == queue_.end()) {
    dispatch_at(soonest);
    return;
  }
  const Handle handle = *best;
  queue_.erase(best);
  start(handle, now);
}

void Stream::start(Handle handle, Seconds now) {
  Entry& entry = entries_[handle];
  busy_ = true;
  entry.start = now;
  entry.end = entry.start + cost_(entry.post);
  Timer::set(entry.end.value, [this, handle] { finish(handle); });
}

void Stream::finish(Handle handle) {
  busy_ = false;
  entries_[handle].ended = true;
  while (ended_ < entries_.size() && entries_[ended_].ended) ++ended_;
  const Seconds end = entries_[handle].end;
  for (const Waiter& waiter : std::exchange(entries_[handle].waiters, {})) waiter.actor->resume();
  dispatch(end);
}

bool Stream::is_awaited_from(int poster) const {
  for (Handle handle = std::max(ended_, next_[static_cast<std::size_t>(poster)]); handle < entries_.size(); ++handle) {
    if (!entries_[handle].waiters.empty()) return true;
  }
  return false;
}

std::string Stream::name(Handle handle) const {
  const Post& post = entries_[handle].post;
  return fmt::format("{} {} of stream {} (\"{}\", {} B, round {})", to_string(post.operation), handle, index_, post.payload->label,
                     post.payload->bytes.value, post.round);
}

std::string Stream::describe_waits() const {
  std::string text;
  for (Handle handle = ended_; handle < entries_.size(); ++handle) {
    const Entry& entry = entries_[handle];
    if (entry.waiters.empty()) continue;
    std::vector<int> waiting;
    for (const Waiter& waiter : entry.waiters) waiting.push_back(waiter.poster);
    std::sort(waiting.begin(), waiting.end());
    std::vector<int> posted;
    std::vector<int> missing;
    for (int poster = 0; poster < static_cast<int>(next_.size()); ++poster) {
      (next_[static_cast<std::size_t>(poster)] > handle ? posted : missing).push_back(poster);
    }
    text += fmt::format("{}rank {} waits for {}, which rank {} posted and rank {} did not", text.empty() ? "" : "; ",
                        format_ranges(waiting), name(handle), format_ranges(posted), format_ranges(missing));
  }
  return text;
}

std::vector<CollectiveSpan> Stream::spans() const {
  std::vector<CollectiveSpan> spans;
  for (const Entry& entry : entries_) {
    if (entry.ended) spans.push_back({entry.start, entry.end, index_, entry.post.round, entry.post.payload});
  }
  std::sort(spans.begin(), spans.end(), [](const CollectiveSpan& a, const CollectiveSpan& b) { return a.start < b.start; });
  return spans;
}

}  // namespace syncopate
