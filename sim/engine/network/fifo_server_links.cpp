#include "engine/network/fifo_server_links.hpp"

#include <algorithm>
#include <utility>

namespace syncopate {

FifoServerLinks::FifoServerLinks(const ServerStar& star, int clients, Arrival arrival, Clock& clock)
    : bandwidth_(star.bandwidth), latency_(star.latency), servers_(star.servers), arrival_(std::move(arrival)), clock_(clock) {
  for (Direction& direction : directions_) direction.messages.resize(at(clients));
}

void FifoServerLinks::start(Way way, int client, Bytes bytes, const Moment& at) {
  const Moment moves_at = pass_latency(at, latency_, client);
  clock_.at(moves_at.time, [=, this] {
    Queue<Waiting>& messages = direction(way).messages[client];
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
  Direction& links = direction(way);
  std::sort(links.coming.begin(), links.coming.end(), [](const Turn& a, const Turn& b) { return a.client < b.client; });
  for (const Turn& turn : std::exchange(links.coming, {})) {
    if (links.moving < servers_) {
      move(way, turn.client, turn.since);
    } else {
      links.waiting.push_back(turn);
    }
  }
}

void FifoServerLinks::move(Way way, int client, const Moment& now) {
  Direction& links = direction(way);
  ++links.moving;
  const Seconds alone = links.messages[client].front().bytes / bandwidth_;
  const Moment end = arrive(now, now.time + alone, alone, client);
  clock_.at(end.time, [this, way, client, end] { moved(way, client, end); });
}

void FifoServerLinks::moved(Way way, int client, const Moment& now) {
  Direction& links = direction(way);
  --links.moving;
  Queue<Waiting>& messages = links.messages[client];
  messages.pop_front();
  if (!messages.empty()) come(way, client, latest(now, messages.front().since));
  if (!links.waiting.empty()) {
    const Turn next = links.waiting.front();
    links.waiting.pop_front();
    move(way, next.client, latest(now, next.since));
  }
  arrival_(way, client, now);
}

}  // namespace syncopate
