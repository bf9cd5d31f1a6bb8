#include "engine/network/queued_server_links.hpp"

#include <algorithm>

namespace syncopate {

QueuedServerLinks::QueuedServerLinks(const ServerStar& star, int clients, int equals, const Arrival& arrival, Clock& clock)
    : pulls_(star, clients, equals, arrival, clock),
      clients_per_server_(static_cast<double>(equals) / star.servers),
      bandwidth_(star.bandwidth),
      latency_(star.latency),
      arrival_(arrival),
      clock_(clock),
      messages_(clients) {}

void QueuedServerLinks::start(Way way, int client, Bytes bytes, const Moment& at) {
  if (way == Way::pull) return pulls_.start(way, client, bytes, at);
  const Moment moves_at = pass_latency(at, latency_, client);
  clock_.at(moves_at.time, [=, this] {
    Queue<Waiting>& messages = messages_[client];
    messages.push_back({bytes, moves_at});
    if (messages.size() == 1) begin(client, bytes, moves_at);
  });
}

void QueuedServerLinks::fill_until(Seconds now) {
  queue_ = std::max(Seconds(0), queue_ + (sending_ * clients_per_server_ - 1.0) * (now - since_));
  since_ = now;
}

void QueuedServerLinks::begin(int client, Bytes bytes, const Moment& now) {
  fill_until(now.time);
  ++sending_;
  const Seconds alone = bytes / bandwidth_;
  const Moment end = arrive(now, now.time + alone, alone, client);
  clock_.at(end.time, [this, client, end] {
    fill_until(end.time);
    --sending_;
    const Moment arrives = arrive(end, end.time + queue_, Seconds(0), client);
    clock_.at(arrives.time, [this, client, arrives] { arrival_(Way::push, client, arrives); });
    Queue<Waiting>& messages = messages_[client];
    messages.pop_front();
    if (!messages.empty()) begin(client, messages.front().bytes, latest(end, messages.front().since));
  });
}

}  // namespace syncopate
