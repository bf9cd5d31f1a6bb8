#include "engine/message_stream.hpp"

#include <algorithm>

#include "engine/clock.hpp"

namespace syncopate {

MessageStream::MessageStream(int index, int posters, PlannedCollectives& planned, LatencyFactor latency_factor, bool shortcuts)
    : Stream(index, posters, 1.0),
      planned_(planned),
      latency_factor_(std::move(latency_factor)),
      shortcuts_(shortcuts),
      free_(static_cast<std::size_t>(posters)),
      starts_(static_cast<std::size_t>(posters)),
      ends_(static_cast<std::size_t>(posters)) {}

void MessageStream::posted(Handle handle, int poster, Seconds at) {
  Entry& entry = at_handle(handle);
  require_no_priority(entry.post);
  entry.posted.resize(static_cast<std::size_t>(posters()));
  entry.posted[static_cast<std::size_t>(poster)] = at;
  if (entry.posts == posters()) compute(handle);
}

void MessageStream::compute(Handle handle) {
  Entry& entry = at_handle(handle);
  for (std::size_t poster = 0; poster < starts_.size(); ++poster) starts_[poster] = std::max(entry.posted[poster], free_[poster]);
  find_ends(entry.post, latency_factor_(handle));
  entry.posted = {};
  entry.ends.assign(ends_.begin(), ends_.end());
  free_ = ends_;
  note_start(entry, *std::max_element(starts_.begin(), starts_.end()), *std::max_element(ends_.begin(), ends_.end()));
  wake_at_ends(entry);
  call_at(entry.end, [this, handle] {
    if (!is_stopped()) finish(handle);
  });
}

void MessageStream::find_ends(const Post& post, double latency_factor) {
  const Bytes bytes = post.payload->bytes;
  PlannedCollective& collective = planned_(post.operation, bytes);
  const Bytes data = all_data(collective.plan, bytes);
  if (posters() == 1) {
    ends_.front() = starts_.front() + collective.times.from_equal_starts(data, latency_factor);
    return;
  }
  if (!shortcuts_) {
    collective.times(data, latency_factor, starts_, ends_);
    return;
  }
  const Seconds first = *std::min_element(starts_.begin(), starts_.end());
  std::vector<Known>& known = known_[{post.operation, bytes}];
  const Known* same = recall(known, latency_factor, first);
  if (same == nullptr) {
    constexpr std::size_t most_kept = 2;
    if (known.size() == most_kept) known.erase(known.begin());
    Known& found = known.emplace_back(Known{latency_factor, starts_, {}});
    for (Seconds& start : found.starts) start -= first;
    found.ends.resize(found.starts.size());
    collective.times(data, latency_factor, found.starts, found.ends);
    same = &found;
  }
  for (std::size_t poster = 0; poster < ends_.size(); ++poster) ends_[poster] = first + same->ends[poster];
}

const MessageStream::Known* MessageStream::recall(std::vector<Known>& known, double latency_factor, Seconds first) const {
  // Times are sums of maxima: starts that differ by a rounding error give ends that differ by no more.
  constexpr double rounding = 1e-14;
  const Seconds most = rounding * first;
  const auto same = std::find_if(known.begin(), known.end(), [&](const Known& candidate) {
    if (candidate.latency_factor != latency_factor) return false;
    for (std::size_t poster = 0; poster < starts_.size(); ++poster) {
      const Seconds difference = starts_[poster] - first - candidate.starts[poster];
      if (difference > most || -1.0 * difference > most) return false;
    }
    return true;
  });
  return same == known.end() ? nullptr : &*same;
}

bool MessageStream::is_busy(int poster, Seconds time) const { return free_[static_cast<std::size_t>(poster)] > time; }

}  // namespace syncopate
