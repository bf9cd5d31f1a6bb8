#include "engine/flow_server_links.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace syncopate {

FlowServerLinks::FlowServerLinks(const ServerSetup& setup, Network& network, Flows& flows, Arrival arrival)
    : network_(network), flows_(flows), arrival_(std::move(arrival)) {
  servers_.reserve(static_cast<std::size_t>(setup.servers));
  for (int server = 0; server < setup.servers; ++server) servers_.push_back(setup.colocated ? server : network.server_rank(server));
}

Seconds FlowServerLinks::latency(int client) const {
  Seconds longest;
  for (const int server : servers_) {
    if (server != client) longest = std::max(longest, network_.path(client, server).latency);
  }
  return longest;
}

double FlowServerLinks::moved_share(int client) const {
  const auto local = static_cast<double>(std::count(servers_.begin(), servers_.end(), client));
  const auto servers = static_cast<double>(servers_.size());
  return (servers - local) / servers;
}

void FlowServerLinks::start(Way way, int client, Bytes bytes, Seconds now) {
  const auto others = servers_.size() - static_cast<std::size_t>(std::count(servers_.begin(), servers_.end(), client));
  const auto left = std::make_shared<std::size_t>(others);
  for (const int server : servers_) {
    if (server == client) continue;
    const auto [from, to] = way == Way::push ? std::pair(client, server) : std::pair(server, client);
    flows_.start(from, to, bytes / static_cast<double>(others), now, [this, way, client, left](Seconds end) {
      if (--*left == 0) arrival_(way, client, end);
    });
  }
}

}  // namespace syncopate
