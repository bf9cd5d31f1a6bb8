#include "engine/servers/fifo_server_links.hpp"

#include <algorithm>
#include <utility>

namespace syncopate {

FifoServerLinks::FifoServerLinks(const ServerSetup& setup, int clients, Arrival arrival, Clock& clock)
    : bandwidth_(setup.bandwidth), latency_(setup.latency), servers_(setup.servers), arrival_(std::move(arrival)), clock_(clock) {
  for (Direction& direction : directions_) direction.messages.resize(static_cast<std::size_t>(clients));
}

void FifoServerLinks::start(Way way, int client, Bytes bytes, const Moment& at) {
  const Moment moves_at = pass_latency(at, latency_, client);
  clock_.at(moves_at.time, [=, this] {
    Queue<Waiting>& messages = direction(way).messages[static_cast<std::size_t>(client)];
    messages.push_back({bytes, moves_at});
    if (messages.size() == 1) come(way, client, moves_at);
  });
}

void FifoServerLinks::come(Way way, int client, const Moment& now) {
  std::vector<Turn>& coming = direction(way).coming;
  coming.push_back({client, now});
  if (coming.size() == 1) clock_.after(now.time * (1.0 + rounding), [this, way] { line_up(way); });
}

void FifoServerLinks::line_up(Way way) {
  Direction& its = direction(way);
  std::sort(its.coming.begin(), its.coming.end(), [](const Turn& a, const Turn& b) { return a.client < b.client; });
  for (const Turn& one : std::exchange(its.coming, {})) {
    if (its.moving < servers_) {
      move(way, one.client, one.since);
    } else {
      its.waiting.push_back(one);
    }
  }
}

void FifoServerLinks::move(Way way, int client, const Moment& now) {
  Direction& its = direction(way);
  ++its.moving;
  const Seconds alone = its.messages[static_cast<std::size_t>(client)].front().bytes / bandwidth_;
  const Moment end = arrive(now, now.time + alone, alone, client);
  clock_.at(end.time, [this, way, client, end] { moved(way, client, end); });
}

void FifoServerLinks::moved(Way way, int client, const Moment& now) {
  Direction& its = direction(way);
  --its.moving;
  Queue<Waiting>& messages = its.messages[static_cast<std::size_t>(client)];
  messages.pop_front();
  if (!messages.empty()) come(way, client, latest(now, messages.front().since));
  if (!its.waiting.empty()) {
    const Turn next = its.waiting.front();
    its.waiting.pop_front();
    move(way, next.client, latest(now, next.since));
  }
  arrival_(way, client, now);
}

}  // namespace syncopate
