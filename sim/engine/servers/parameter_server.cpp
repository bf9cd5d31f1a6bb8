#include "engine/servers/parameter_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "engine/network/fifo_server_links.hpp"
#include "engine/network/flow_server_links.hpp"
#include "engine/network/queued_server_links.hpp"
#include "engine/network/star_server_links.hpp"

namespace syncopate {

ParameterServer::ParameterServer(const ServerSetup& setup, int clients, int equals, Network& network, Flows* flows, MessageLatency latency,
                                 Dataflow* dataflow, Recorder& recorder, Clock& clock)
    : setup_(setup),
      equals_(equals),
      recorder_(recorder),
      clock_(clock),
      clients_(clients),
      values_(dataflow, setup.rule, clients, clients - setup.backup) {
  const auto arrival = [this](ServerLinks::Way way, int client, const Moment& now) { arrived(way, client, now); };
  if (flows != nullptr) {
    links_ = std::make_unique<FlowServerLinks>(network, *flows, latency, setup.may_join, arrival, clock);
    return;
  }
  const ServerStar star = {setup.servers, setup.colocated, setup.bandwidth, setup.latency};
  switch (setup.service) {
    case Service::shared: links_ = std::make_unique<StarServerLinks>(star, clients, equals, arrival, clock); break;
    case Service::queued: links_ = std::make_unique<QueuedServerLinks>(star, clients, equals, arrival, clock); break;
    case Service::fifo: links_ = std::make_unique<FifoServerLinks>(star, clients, arrival, clock); break;
  }
}

std::size_t ParameterServer::add(int client, Request request) {
  Client& state = clients_[client];
  state.requests.push_back(std::move(request));
  return state.forgotten + state.requests.size() - 1;
}

Exchange ParameterServer::push(int client, const SharedPayload& payload, int round, Answer answer, const PushOptions& options,
                               const Moment& at) {
  const std::size_t index = send(client, {.payload = payload, .round = round, .answer = answer, .options = options}, at);
  if (answer == Answer::all) join_aggregate(client, index);
  return {index};
}

std::size_t ParameterServer::send(int client, Request pushed, const Moment& at) {
  Moment ready = at;
  const Seconds gather = gather_time(pushed.payload->bytes);
  if (setup_.pipelined && gather > Seconds(0)) {
    Moment& gathered = clients_[client].gathered;
    const Moment start = latest(at, gathered);
    gathered = ready = after(start, gather, in_node(client));
    recorder_.transfer(client, TransferSpan::Kind::gather, pushed.round, {start.time, ready.time}, pushed.payload);
  }
  pushed.posted = ready;
  const std::size_t index = add(client, std::move(pushed));
  if (setup_.by_priority) {
    clock_.at(ready.time, [this, client, index, ready] { let_wait(client, ServerLinks::Way::push, index, ready); });
    return index;
  }
  clients_[client].up.queue.push_back(index);
  next_push(client);
  return index;
}

void ParameterServer::join_aggregate(int client, std::size_t index) {
  const std::size_t number = clients_[client].aggregates++;
  Request& pushed = request(client, index);
  pushed.aggregate = number;
  if (number == forgotten_aggregates_ + aggregates_.size()) {
    aggregates_.push_back(
        {.payload = pushed.payload, .round = pushed.round, .first_client = client, .requests = Indexed<std::size_t>(clients_.size())});
  }
  Aggregate& aggregate = aggregates_[number - forgotten_aggregates_];
  if (aggregate.payload != pushed.payload || aggregate.round != pushed.round) {
    throw SimulationError(fmt::format(
        "ranks disagree on push {}: rank {} pushed \"{}\" in round {}, rank {} pushed \"{}\" in round {}; every "
        "rank must push the same tensors in the same order",
        number, aggregate.first_client, aggregate.payload->label, aggregate.round, client, pushed.payload->label, pushed.round));
  }
  ++aggregate.joined;
  if (!aggregate.requests.empty()) aggregate.requests[client] = index + 1;
}

Exchange ParameterServer::join(int client, const SharedPayload& payload, int round, const PushOptions& options, const Moment& at) {
  const std::size_t index = add(client, {.payload = payload, .round = round, .answer = Answer::all, .options = options, .posted = at});
  request(client, index).options.keep_end = true;
  join_aggregate(client, index);
  if (aggregate_of(request(client, index)).requests.empty()) {
    forget_answered();
    clock_.at(at.time, [this, client, index, at] { allow_pull(client, index, at); });
  }
  return {index};
}

bool ParameterServer::contribute(int client, Exchange joined, double share, const PushOptions& options, const Moment& at) {
  const Request& sum = request(client, joined.index);
  if (sum.ended) return false;
  send(client,
       {.payload = sum.payload, .round = sum.round, .answer = Answer::all, .options = options, .aggregate = sum.aggregate, .share = share},
       at);
  return true;
}

Exchange ParameterServer::pull(int client, const SharedPayload& payload, int round, const SharedPayload& as_pulled, const Moment& at) {
  const std::size_t index =
      add(client, {.payload = payload, .round = round, .only_pull = true, .options = {.as_pulled = as_pulled}, .posted = at});
  const Moment arrival = signal(ServerLinks::Way::push, client, at);
  clock_.at(arrival.time, [this, client, index, arrival] { reach_server(client, index, arrival); });
  return {index};
}

Moment ParameterServer::signal(ServerLinks::Way way, int client, const Moment& at) const {
  return setup_.on_request ? links_->pass(way, client, at) : at;
}

void ParameterServer::reach_server(int client, std::size_t index, const Moment& now) {
  arrivals_.push_back({client, index, now});
  if (arrivals_.size() == 1) clock_.at(now.time * (1.0 + rounding), [this] { serve_arrivals(); });
}

void ParameterServer::serve_arrivals() {
  std::vector<Arrival> arrivals = std::move(arrivals_);
  arrivals_.clear();
  std::stable_sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) { return a.client < b.client; });
  for (const Arrival& arrival : arrivals) {
    if (request(arrival.client, arrival.index).only_pull) {
      serve_pull(arrival.client, arrival.index, arrival.time);
    } else {
      serve_push(arrival.client, arrival.index, arrival.time);
    }
  }
}

Seconds ParameterServer::work_on(const Request& pushed) {
  const auto share = [this](const SharedPayload& payload) { return payload->bytes / setup_.servers; };
  const Seconds one_push =
      equals_ * (setup_.per_message + setup_.work * share(pushed.options.as_pushed) + setup_.decode * share(pushed.payload));
  switch (pushed.answer) {
    case Answer::none: return one_push;
    case Answer::own: return one_push + equals_ * (setup_.per_message + setup_.encode * share(pushed.payload));
    case Answer::all: break;
  }
  const auto clients = static_cast<int>(clients_.size());
  const bool is_last = ++aggregate_of(pushed).served == needed();
  return is_last ? one_push + equals_ * clients * setup_.per_message + setup_.encode * share(pushed.payload) : one_push;
}

void ParameterServer::serve_push(int client, std::size_t index, const Moment& arrival) {
  if (is_late(request(client, index))) return end(client, index, arrival);
  const Seconds work = work_on(request(client, index));
  const Moment start = latest(arrival, server_free_);
  server_free_ = after(start, work, {.kind = PathClass::server, .worker = client});
  recorder_.serve({start.time, server_free_.time});
  if (server_free_.time > arrival.time) {
    clock_.at(server_free_.time, [this, client, index, done = server_free_] { handled(client, index, done); });
  } else {
    handled(client, index, arrival);
  }
}

void ParameterServer::serve_pull(int client, std::size_t index, const Moment& arrival) {
  const Moment turn = latest(arrival, server_free_);
  const Seconds end = turn.time + setup_.per_message + setup_.encode * (request(client, index).payload->bytes / setup_.servers);
  const Moment done = until(turn, end, {.kind = PathClass::server, .worker = client});
  const auto take_turn = [this, client, index, turn, done] {
    for (auto& [payload, versions] : versions_) {
      versions.seen.resize(clients_.size());
      versions.seen[client] = versions.updates;
    }
    if (done.time == turn.time) return answer(client, index, turn);
    clock_.at(done.time, [this, client, index, done] { answer(client, index, done); });
  };
  if (done.time > turn.time) {
    server_free_ = done;
    recorder_.serve({turn.time, done.time});
  }
  if (turn.time > arrival.time) {
    clock_.after(turn.time, take_turn);  // when the previous push has been handled
  } else {
    take_turn();
  }
}

void ParameterServer::push_arrived(int client, const Moment& now) {
  Channel& up = clients_[client].up;
  const std::size_t index = up.queue.front();
  const Request& pushed = request(client, index);
  end_transfer(client, up, now);
  if (setup_.duplex || pushed.answer == Answer::none) release(client, up, ServerLinks::Way::push, now);
  reach_server(client, index, now);
  if (!up.occupied) next_push(client);
}

void ParameterServer::handled(int client, std::size_t index, const Moment& now) {
  const Request& pushed = request(client, index);
  if (setup_.asynchronous) note_staleness(client, pushed);
  values_.handle(client, pushed.round, pushed.options.value);
  switch (pushed.answer) {
    case Answer::none: return acknowledge(client, index, now);
    case Answer::own: return allow_pull(client, index, now);
    case Answer::all: break;
  }
  Aggregate& aggregate = aggregate_of(pushed);
  if (pushed.share > 0.0) {
    recorder_.enter(client, pushed.share);
    end(client, index, now);
  }
  if (++aggregate.handled < needed()) return;
  const Indexed<std::size_t> requests = std::move(aggregate.requests);
  aggregate.requests.clear();
  forget_answered();
  for (int joined = 0; joined < static_cast<int>(requests.size()); ++joined) {
    if (requests[joined] > 0) allow_pull(joined, requests[joined] - 1, now);
  }
}

void ParameterServer::forget_answered() {
  const auto is_over = [this](const Aggregate& sum) { return sum.requests.empty() && sum.joined == static_cast<int>(clients_.size()); };
  for (; !aggregates_.empty() && is_over(aggregates_.front()); aggregates_.pop_front()) ++forgotten_aggregates_;
}

void ParameterServer::note_staleness(int client, const Request& pushed) {
  Versions& versions = versions_[pushed.payload.get()];
  versions.seen.resize(clients_.size());
  const double staleness = static_cast<double>(versions.updates - versions.seen[client]) / static_cast<double>(clients_.size());
  ++versions.updates;
  recorder_.update(client, staleness);
}

void ParameterServer::acknowledge(int client, std::size_t index, const Moment& now) {
  const Moment told = signal(ServerLinks::Way::pull, client, now);
  if (told.time == now.time) return end(client, index, now);
  clock_.at(told.time, [this, client, index, told] { end(client, index, told); });
}

void ParameterServer::allow_pull(int client, std::size_t index, const Moment& now) {
  if (request(client, index).answer == Answer::all) note_answer(client, index);
  const Moment told = signal(ServerLinks::Way::pull, client, now);
  const Moment asked = signal(ServerLinks::Way::push, client, told);
  if (asked.time == now.time) return answer(client, index, now);
  clock_.at(asked.time, [this, client, index, asked] { answer(client, index, asked); });
}

void ParameterServer::answer(int client, std::size_t index, const Moment& now) {
  const Request& answered = request(client, index);
  if (setup_.asynchronous && answered.answer == Answer::own) {
    Versions& versions = versions_[answered.payload.get()];
    versions.seen[client] = versions.updates;
  }
  if (answered.answer != Answer::all) note_answer(client, index);
  if (!setup_.duplex && !request(client, index).only_pull) return move_pull(client, now);  // the push still occupies the channel
  if (setup_.by_priority) return let_wait(client, ServerLinks::Way::pull, index, now);
  request(client, index).posted = now;
  down(client).queue.push_back(index);
  if (setup_.overlaps) send_off(client, down(client), ServerLinks::Way::pull);
  next_pull(client, now);
}

void ParameterServer::note_answer(int client, std::size_t index) {
  const Request& answered = request(client, index);
  values_.answer(client, index, answered.options.value, answered.only_pull);
}

void ParameterServer::end(int client, std::size_t index, const Moment& now) {
  Request& ended = request(client, index);
  ended.ended = now;
  if (ended.waiter != nullptr) std::exchange(ended.waiter, nullptr)->complete(now);
  forget_ended(clients_[client]);
}

void ParameterServer::forget_ended(Client& client) {
  const auto is_over = [](const Request& request) { return request.ended && !request.options.keep_end; };
  for (; !client.requests.empty() && is_over(client.requests.front()); client.requests.pop_front()) ++client.forgotten;
}

const ParameterServer::Request* ParameterServer::find(int client, std::size_t index) const {
  const Client& state = clients_[client];
  if (index >= state.forgotten + state.requests.size()) {
    throw SimulationError(fmt::format("rank {} waits for message {} to the servers, which it has not posted", client, index));
  }
  return index < state.forgotten ? nullptr : &state.requests[index - state.forgotten];
}

Moment ParameterServer::wait(int client, Exchange exchange) {
  if (find(client, exchange.index) == nullptr) return {};
  Request& awaited = request(client, exchange.index);
  awaited.options.keep_end = false;
  if (awaited.ended) {
    Moment ended = *awaited.ended;
    forget_ended(clients_[client]);
    return ended;
  }
  Completion completion(clock_);
  awaited.waiter = &completion;
  return completion.wait();
}

std::optional<Moment> ParameterServer::wait_until(int client, std::span<const Exchange> joined, const Moment& end) {
  Moment all;
  for (std::size_t i = joined.size(); i-- > 0;) {
    const std::size_t index = joined[i].index;
    if (!request(client, index).ended) {
      if (end.time <= clock_.now()) return std::nullopt;
      Completion completion(clock_);
      request(client, index).waiter = &completion;
      const auto is_here = std::make_shared<bool>(true);
      clock_.at(end.time, [this, client, index, end, is_here] {
        if (*is_here && request(client, index).waiter != nullptr) std::exchange(request(client, index).waiter, nullptr)->complete(end);
      });
      completion.wait();
      *is_here = false;
      if (!request(client, index).ended) return std::nullopt;
    }
    all = latest(all, *request(client, index).ended);
  }
  return all;
}

void ParameterServer::send_off(int client, Channel& channel, ServerLinks::Way way) {
  for (; channel.left < channel.queue.size(); ++channel.left) {
    const Request& next = request(client, channel.queue[channel.left]);
    const SharedPayload& moved = way == ServerLinks::Way::push ? next.options.as_pushed : next.options.as_pulled;
    transfer(way, client, moved->bytes, next.posted);
  }
}

void ParameterServer::let_wait(int client, ServerLinks::Way way, std::size_t index, const Moment& now) {
  Channel& channel = way == ServerLinks::Way::push ? clients_[client].up : down(client);
  channel.waiting.emplace(request(client, index).options.priority, index);
  clock_.after(now.time * (1.0 + rounding), [this, client, way, now] { choose(client, way, now); });
}

void ParameterServer::choose(int client, ServerLinks::Way way, const Moment& now) {
  const bool pushes = way == ServerLinks::Way::push;
  Channel& channel = pushes ? clients_[client].up : down(client);
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
  Channel& up = clients_[client].up;
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
  Moment& spread_by = clients_[client].spread;
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

bool ParameterServer::is_busy(int client, Seconds time) const {
  const Client& state = clients_[client];
  const auto busy = [&](const Channel& channel) { return channel.moving && channel.since.time <= time; };
  return busy(state.up) || busy(state.down) || state.gathered.time > time || state.spread.time > time;
}

bool ParameterServer::is_idle(int client, Seconds time) const {
  const Queue<Request>& requests = clients_[client].requests;
  const bool have_ended =
      std::all_of(requests.begin(), requests.end(), [&](const Request& each) { return each.ended && each.ended->time <= time; });
  return have_ended && !is_busy(client, time);
}

bool ParameterServer::is_awaited_from(int client) const {
  return std::any_of(aggregates_.begin(), aggregates_.end(), [&](const Aggregate& aggregate) {
    if (aggregate.requests.empty() || aggregate.requests[client] > 0) return false;
    for (int joined = 0; joined < static_cast<int>(clients_.size()); ++joined) {
      if (aggregate.requests[joined] == 0) continue;
      const Request* pushed = find(joined, aggregate.requests[joined] - 1);
      if (pushed != nullptr && pushed->waiter != nullptr) return true;
    }
    return false;
  });
}

std::string ParameterServer::describe_waits() const {
  std::string text;
  for (const Aggregate& aggregate : aggregates_) {
    std::vector<int> waiting;
    std::vector<int> missing;
    for (int client = 0; client < static_cast<int>(aggregate.requests.size()); ++client) {
      if (aggregate.requests[client] == 0) {
        missing.push_back(client);
        continue;
      }
      const Request* pushed = find(client, aggregate.requests[client] - 1);
      if (pushed != nullptr && pushed->waiter != nullptr) waiting.push_back(client);
    }
    if (waiting.empty()) continue;
    text += fmt::format("{}the servers' sum of \"{}\" ({} B, round {}) is awaited by {}, not pushed by {}", text.empty() ? "" : "; ",
                        aggregate.payload->label, aggregate.payload->bytes.value, aggregate.round, describe_ranks(waiting),
                        describe_ranks(missing));
  }
  return text;
}

void ParameterServer::cut_off() {
  for (int client = 0; client < static_cast<int>(clients_.size()); ++client) {
    for (const Channel* channel : {&clients_[client].up, &clients_[client].down}) {
      if (channel->moving) recorder_.cut_off(client, channel->kind, {channel->since.time, clock_.now()});
    }
  }
}

}  // namespace syncopate
