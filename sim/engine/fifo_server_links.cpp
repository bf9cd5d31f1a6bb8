#include "engine/fifo_server_links.hpp"

#include <algorithm>
#include <utility>

namespace syncopate {

FifoServerLinks::FifoServerLinks(const ServerSetup& setup, int clients, Arrival arrival, Clock& clock)
    : bandwidth_(setup.bandwidth), latency_(setup.latency), servers_(setup.servers), arrival_(std::move(arrival)), clock_(clock) {
  for (Direction& direction : directions_) direction.messages.resize(static_cast<std::size_t>(clients));
}

void FifoServerLinks::start(Way way, int client, Bytes bytes, Seconds at) {
  const Seconds moves_at = at + latency_;
  clock_.at(moves_at, [=, this] {
    Queue<Bytes>& messages = direction(way).messages[static_cast<std::size_t>(client)];
    messages.push_back(bytes);
    if (messages.size() == 1) come(way, client, moves_at);
  });
}

void FifoServerLinks::come(Way way, int client, Seconds now) {
  std::vector<Waiting>& coming = direction(way).coming;
  coming.push_back({client, now});
  if (coming.size() == 1) clock_.after(now * (1.0 + rounding), [this, way] { line_up(way); });
}

void FifoServerLinks::line_up(Way way) {
  Direction& its = direction(way);
  std::sort(its.coming.begin(), its.coming.end(), [](const Waiting& a, const Waiting& b) { return a.client < b.client; });
  for (const Waiting& one : std::exchange(its.coming, {})) {
    if (its.moving < servers_) {
      move(way, one.client, one.since);
    } else {
      its.waiting.push_back(one);
    }
  }
}

void FifoServerLinks::move(Way way, int client, Seconds now) {
  Direction& its = direction(way);
  ++its.moving;
  const Seconds end = now + its.messages[static_cast<std::size_t>(client)].front() / bandwidth_;
  clock_.at(end, [this, way, client, end] { moved(way, client, end); });
}

void FifoServerLinks::moved(Way way, int client, Seconds now) {
  Direction& its = direction(way);
  --its.moving;
  Queue<Bytes>& messages = its.messages[static_cast<std::size_t>(client)];
  messages.pop_front();
  if (!messages.empty()) come(way, client, now);
  if (!its.waiting.empty()) {
    const Waiting next = its.waiting.front();
    its.waiting.pop_front();
    move(way, next.client, std::max(now, next.since));
  }
  arrival_(way, client, now);
}

}  // namespace syncopate
