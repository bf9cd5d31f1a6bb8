// What moves over the clients' channels, one transfer after the other.

#include <algorithm>
#include <utility>

#include "engine/servers/parameter_server.hpp"

namespace syncopate {

void ParameterServer::send_off(int client, Channel& channel, ServerLinks::Way way) {
  for (; channel.left < channel.queue.size(); ++channel.left) {
    const Request& next = request(client, channel.queue[channel.left]);
    const SharedPayload& moved = way == ServerLinks::Way::push ? next.options.as_pushed : next.options.as_pulled;
    transfer(way, client, moved->bytes, next.posted);
  }
}

void ParameterServer::let_wait(int client, ServerLinks::Way way, std::size_t index, const Moment& now) {
  Channel& channel = way == ServerLinks::Way::push ? client_at(client).up : down(client);
  channel.waiting.emplace(request(client, index).options.priority, index);
  clock_.after(now.time * (1.0 + rounding), [this, client, way, now] { choose(client, way, now); });
}

void ParameterServer::choose(int client, ServerLinks::Way way, const Moment& now) {
  const bool pushes = way == ServerLinks::Way::push;
  Channel& channel = pushes ? client_at(client).up : down(client);
  while (!channel.waiting.empty()) {
    const std::size_t index = channel.waiting.begin()->second;
    Request& chosen = request(client, index);
    if (!setup_.by_priority->allows(chosen.payload->bytes, channel.bytes)) return;
    chosen.posted = now;
    channel.bytes += chosen.payload->bytes;
    channel.queue.push_back(index);
    channel.waiting.erase(channel.waiting.begin());
    if (pushes) {
      next_push(client);
    } else {
      send_off(client, channel, way);
      next_pull(client, now);
    }
  }
}

void ParameterServer::next_push(int client) {
  Channel& up = client_at(client).up;
  if (setup_.overlaps) send_off(client, up, ServerLinks::Way::push);
  if (up.occupied || up.queue.empty()) return;
  const Request& next = request(client, up.queue.front());
  if (next.only_pull) return next_pull(client, up.free);
  up.occupied = true;
  const Seconds gather = setup_.pipelined ? Seconds(0) : gather_time(next.payload->bytes);
  begin_transfer(client, up, TransferSpan::Kind::push, latest(next.posted, up.free), gather);
  if (!setup_.overlaps) transfer(ServerLinks::Way::push, client, next.options.as_pushed->bytes, after(up.since, gather, in_node(client)));
}

void ParameterServer::transfer(ServerLinks::Way way, int client, Bytes bytes, const Moment& start) {
  const Bytes moved = links_->moved_share(client) * bytes;
  if (moved > Bytes(0)) {
    links_->start(way, client, moved, start);
  } else {
    clock_.at(start.time, [=, this] { arrived(way, client, start); });
  }
}

void ParameterServer::arrived(ServerLinks::Way way, int client, const Moment& now) {
  if (way == ServerLinks::Way::push) {
    push_arrived(client, now);
    return;
  }
  const Seconds spread = setup_.pipelined ? Seconds(0) : spread_time(request(client, down(client).queue.front()));
  if (spread > Seconds(0)) {
    const Moment end = after(now, spread, in_node(client));
    clock_.at(end.time, [this, client, end] { pull_arrived(client, end); });
  } else {
    pull_arrived(client, now);
  }
}

Seconds ParameterServer::spread_time(const Request& pulled) const {
  return pulled.options.spread ? setup_.spread_latency + setup_.spread * pulled.payload->bytes : Seconds(0);
}

void ParameterServer::next_pull(int client, const Moment& now) {
  Channel& channel = down(client);
  if (channel.occupied || channel.queue.empty()) return;
  channel.occupied = true;
  move_pull(client, latest(setup_.overlaps ? request(client, channel.queue.front()).posted : now, channel.free));
}

void ParameterServer::move_pull(int client, const Moment& now) {
  Channel& channel = down(client);
  const Request& pulled = request(client, channel.queue.front());
  begin_transfer(client, channel, TransferSpan::Kind::pull, now, setup_.pipelined ? Seconds(0) : spread_time(pulled));
  if (!setup_.overlaps) transfer(ServerLinks::Way::pull, client, pulled.options.as_pulled->bytes, now);
}

void ParameterServer::pull_arrived(int client, const Moment& now) {
  Channel& channel = down(client);
  const std::size_t index = channel.queue.front();
  end_transfer(client, channel, now);
  release(client, channel, ServerLinks::Way::pull, now);
  spread_in_node(client, index, now);
  if (setup_.duplex) {
    next_pull(client, now);
  } else {
    next_push(client);
  }
}

void ParameterServer::spread_in_node(int client, std::size_t index, const Moment& now) {
  const Request& pulled = request(client, index);
  const Seconds spread = setup_.pipelined ? spread_time(pulled) : Seconds(0);
  if (spread == Seconds(0)) return end(client, index, now);
  Moment& spread_by = client_at(client).spread;
  const Moment start = latest(now, spread_by);
  spread_by = after(start, spread, in_node(client));
  recorder_.transfer(client, TransferSpan::Kind::spread, pulled.round, {start.time, spread_by.time}, pulled.payload);
  clock_.at(spread_by.time, [this, client, index, done = spread_by] { end(client, index, done); });
}

void ParameterServer::release(int client, Channel& channel, ServerLinks::Way way, const Moment& now) {
  if (setup_.by_priority) {
    channel.bytes = channel.queue.size() > 1 ? channel.bytes - request(client, channel.queue.front()).payload->bytes : Bytes(0);
    clock_.after(now.time * (1.0 + rounding), [this, client, way, now] { choose(client, way, now); });
  }
  channel.queue.pop_front();
  if (setup_.overlaps) --channel.left;
  channel.occupied = false;
  channel.free = now;
}

void ParameterServer::begin_transfer(int client, Channel& channel, TransferSpan::Kind kind, const Moment& now, Seconds node_time) {
  channel.since = now;
  channel.moving = node_time > Seconds(0) || links_->moved_share(client) > 0.0;
  channel.kind = kind;
}

void ParameterServer::end_transfer(int client, Channel& channel, const Moment& now) {
  channel.moving = false;
  const Request& moved = request(client, channel.queue.front());
  const bool pushed = channel.kind == TransferSpan::Kind::push;
  recorder_.transfer(client, channel.kind, moved.round, {channel.since.time, now.time},
                     pushed ? moved.options.as_pushed : moved.options.as_pulled);
}

}  // namespace syncopate
