#include "engine/queued_server_links.hpp"

#include <algorithm>

namespace syncopate {

QueuedServerLinks::QueuedServerLinks(const ServerSetup& setup, int clients, int equals, const Arrival& arrival, Clock& clock)
    : pulls_(setup, clients, equals, arrival, clock),
      clients_per_server_(static_cast<double>(equals) / setup.servers),
      bandwidth_(setup.bandwidth),
      latency_(setup.latency),
      arrival_(arrival),
      clock_(clock),
      messages_(static_cast<std::size_t>(clients)) {}

void QueuedServerLinks::start(Way way, int client, Bytes bytes, Seconds at) {
  if (way == Way::pull) return pulls_.start(way, client, bytes, at);
  const Seconds moves_at = at + latency_;
  clock_.at(moves_at, [=, this] {
    Queue<Bytes>& messages = messages_[static_cast<std::size_t>(client)];
    messages.push_back(bytes);
    if (messages.size() == 1) begin(client, bytes, moves_at);
  });
}

void QueuedServerLinks::fill_until(Seconds now) {
  queue_ = std::max(Seconds(0), queue_ + (sending_ * clients_per_server_ - 1.0) * (now - since_));
  since_ = now;
}

void QueuedServerLinks::begin(int client, Bytes bytes, Seconds now) {
  fill_until(now);
  ++sending_;
  const Seconds end = now + bytes / bandwidth_;
  clock_.at(end, [this, client, end] {
    fill_until(end);
    --sending_;
    const Seconds arrives = end + queue_;
    clock_.at(arrives, [this, client, arrives] { arrival_(Way::push, client, arrives); });
    Queue<Bytes>& messages = messages_[static_cast<std::size_t>(client)];
    messages.pop_front();
    if (!messages.empty()) begin(client, messages.front(), end);
  });
}

}  // namespace syncopate
