#include "engine/network/star_server_links.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace syncopate {

StarServerLinks::StarServerLinks(const ServerStar& star, int clients, int equals, Arrival arrival, Clock& clock)
    : star_(star),
      equals_(equals),
      arrival_(std::move(arrival)),
      clock_(clock),
      classes_({{{Way::push, false, {}}, {Way::push, true, {}}, {Way::pull, false, {}}, {Way::pull, true, {}}}}),
      messages_(clients) {
  if (!star_.colocated) return;
  moving_.resize(at(std::min(clients, star_.servers)));
  server_states_[0][0] = star_.servers;
}

double StarServerLinks::moved_share(int client) const { return on_server(client) ? (star_.servers - 1.0) / star_.servers : 1.0; }

void StarServerLinks::start(Way way, int client, Bytes bytes, const Moment& at) {
  const Moment moves_at = pass_latency(at, star_.latency, client);
  clock_.at(moves_at.time, [=, this] { add(way, client, bytes, moves_at); });
}

void StarServerLinks::add(Way way, int client, Bytes bytes, const Moment& now) {
  Queue<Waiting>& messages = messages_[client][way == Way::push ? 0 : 1];
  messages.push_back({bytes, now});
  if (messages.size() > 1) return;
  for (Class& flows : classes_) flows.flows.advance_to(now.time);
  begin(way, client, bytes);
  share_out(now.time);
}

void StarServerLinks::begin(Way way, int client, Bytes bytes) {
  flow_class(way, client).flows.add(bytes, client);
  set_moving(way, client, true);
}

void StarServerLinks::set_moving(Way way, int client, bool moving) {
  if (!on_server(client)) return;
  auto& [pushing, pulling] = moving_[client];
  server_states_[pushing ? 1 : 0][pulling ? 1 : 0] -= equals_;
  (way == Way::push ? pushing : pulling) = moving;
  server_states_[pushing ? 1 : 0][pulling ? 1 : 0] += equals_;
}

double StarServerLinks::busiest(Way way) const {
  const std::size_t first = way == Way::push ? 0 : 2;
  const auto flows = static_cast<double>(equals_) * static_cast<double>(classes_[first].flows.size() + classes_[first + 1].flows.size());
  if (!star_.colocated) return flows;
  double most = 0.0;
  for (const bool pushing : {false, true}) {
    for (const bool pulling : {false, true}) {
      if (server_states_[pushing ? 1 : 0][pulling ? 1 : 0] == 0) continue;
      const bool same = way == Way::push ? pushing : pulling;     // the client on this node moves, too, but its part stays inside the node
      const bool against = way == Way::push ? pulling : pushing;  // this client's traffic with the other servers
      most = std::max(most, flows - (same ? 1.0 : 0.0) + (against ? star_.servers - 1.0 : 0.0));
    }
  }
  return most;
}

void StarServerLinks::share_out(Seconds now) {
  const double down = busiest(Way::push);
  const double up = busiest(Way::pull);
  bool moving = false;
  Seconds end;
  for (Class& flows : classes_) {
    if (flows.flows.empty()) continue;
    const double parts = star_.servers - (flows.on_server ? 1.0 : 0.0);
    const bool push = flows.way == Way::push;
    const double sharing = std::max({parts, push ? down : up, flows.on_server ? (push ? up : down) : 0.0});
    flows.flows.set_rate(Rate(star_.bandwidth.value * parts / sharing));
    end = moving ? std::min(end, flows.flows.next_end()) : flows.flows.next_end();
    moving = true;
  }
  const std::uint64_t number = ++awaited_;
  if (!moving) return;
  end = std::max(now, end);
  clock_.at(end, [this, end, number] {
    if (number == awaited_) end_flows(end);
  });
}

void StarServerLinks::end_flows(Seconds now) {
  struct Ended {
    int client;
    Moment at;
  };
  std::array<std::vector<Ended>, 2> ended;  ///< by way
  for (Class& flows : classes_) {
    flows.flows.advance_to(now);
    std::vector<int> clients;
    if (!flows.flows.empty()) flows.flows.pop_ended(now, clients);
    for (const int client : clients) {
      set_moving(flows.way, client, false);
      Queue<Waiting>& messages = messages_[client][flows.way == Way::push ? 0 : 1];
      const Seconds alone = messages.front().bytes / star_.bandwidth;
      Moment arrival = arrive(messages.front().since, now, alone, client);
      messages.pop_front();
      if (!messages.empty()) {
        messages.front().since = latest(arrival, messages.front().since);
        begin(flows.way, client, messages.front().bytes);
      }
      ended[flows.way == Way::push ? 0 : 1].push_back({client, std::move(arrival)});
    }
  }
  share_out(now);
  for (const Way way : {Way::push, Way::pull}) {
    std::vector<Ended>& arrived = ended[way == Way::push ? 0 : 1];
    // Messages that arrive at the same instant are handled in the order of the clients.
    std::sort(arrived.begin(), arrived.end(), [](const Ended& a, const Ended& b) { return a.client < b.client; });
    for (const Ended& message : arrived) arrival_(way, message.client, message.at);
  }
}

}  // namespace syncopate
