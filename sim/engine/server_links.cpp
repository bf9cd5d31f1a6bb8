#include "engine/server_links.hpp"

#include <algorithm>

namespace syncopate {

StarServerLinks::StarServerLinks(const ServerSetup& setup, int clients, int equals, Arrival arrival, Clock& clock)
    : setup_(setup),
      equals_(equals),
      arrival_(std::move(arrival)),
      clock_(clock),
      classes_({{{Way::push, false, {}}, {Way::push, true, {}}, {Way::pull, false, {}}, {Way::pull, true, {}}}}),
      messages_(static_cast<std::size_t>(clients)) {
  if (!setup_.colocated) return;
  moving_.resize(static_cast<std::size_t>(std::min(clients, setup_.servers)));
  server_states_[0][0] = setup_.servers;
}

double StarServerLinks::moved_share(int client) const { return on_server(client) ? (setup_.servers - 1.0) / setup_.servers : 1.0; }

void StarServerLinks::start(Way way, int client, Bytes bytes, Seconds at) {
  const Seconds moves_at = at + setup_.latency;
  clock_.at(moves_at, [=, this] { add(way, client, bytes, moves_at); });
}

void StarServerLinks::add(Way way, int client, Bytes bytes, Seconds now) {
  Queue<Bytes>& messages = messages_[static_cast<std::size_t>(client)][way == Way::push ? 0 : 1];
  messages.push_back(bytes);
  if (messages.size() > 1) return;
  for (Class& other : classes_) other.flows.advance_to(now);
  begin(way, client, bytes);
  share_out(now);
}

void StarServerLinks::begin(Way way, int client, Bytes bytes) {
  flow_class(way, client).flows.add(bytes, client);
  set_moving(way, client, true);
}

void StarServerLinks::set_moving(Way way, int client, bool moving) {
  if (!on_server(client)) return;
  auto& [pushing, pulling] = moving_[static_cast<std::size_t>(client)];
  server_states_[pushing ? 1 : 0][pulling ? 1 : 0] -= equals_;
  (way == Way::push ? pushing : pulling) = moving;
  server_states_[pushing ? 1 : 0][pulling ? 1 : 0] += equals_;
}

double StarServerLinks::busiest(Way way) const {
  const std::size_t first = way == Way::push ? 0 : 2;
  const auto flows = static_cast<double>(equals_) * static_cast<double>(classes_[first].flows.size() + classes_[first + 1].flows.size());
  if (!setup_.colocated) return flows;
  double most = 0.0;
  for (const bool pushing : {false, true}) {
    for (const bool pulling : {false, true}) {
      if (server_states_[pushing ? 1 : 0][pulling ? 1 : 0] == 0) continue;
      const bool same = way == Way::push ? pushing : pulling;     // its own client's part stays inside the node
      const bool against = way == Way::push ? pulling : pushing;  // its own client's traffic with the other servers
      most = std::max(most, flows - (same ? 1.0 : 0.0) + (against ? setup_.servers - 1.0 : 0.0));
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
    const double parts = setup_.servers - (flows.on_server ? 1.0 : 0.0);
    const bool push = flows.way == Way::push;
    const double sharing = std::max({parts, push ? down : up, flows.on_server ? (push ? up : down) : 0.0});
    flows.flows.set_rate(Rate(setup_.bandwidth.value * parts / sharing));
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
  std::array<std::vector<int>, 2> ended;  ///< by way
  for (Class& flows : classes_) {
    flows.flows.advance_to(now);
    std::vector<int>& clients = ended[flows.way == Way::push ? 0 : 1];
    const std::size_t before = clients.size();
    if (!flows.flows.empty()) flows.flows.pop_ended(now, clients);
    for (std::size_t i = before; i < clients.size(); ++i) {
      set_moving(flows.way, clients[i], false);
      Queue<Bytes>& messages = messages_[static_cast<std::size_t>(clients[i])][flows.way == Way::push ? 0 : 1];
      messages.pop_front();
      if (!messages.empty()) begin(flows.way, clients[i], messages.front());
    }
  }
  share_out(now);
  for (const Way way : {Way::push, Way::pull}) {
    std::vector<int>& clients = ended[way == Way::push ? 0 : 1];
    std::sort(clients.begin(), clients.end());  // what arrives at the same instant arrives in the order of the clients
    for (const int client : clients) arrival_(way, client, now);
  }
}

}  // namespace syncopate
