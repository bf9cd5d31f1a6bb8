#include "engine/flow_server_links.hpp"

#include <algorithm>
#include <memory>

#include "collective/plan.hpp"

namespace syncopate {

FlowServerLinks::FlowServerLinks(const ServerSetup& setup, int clients, const Network& network, Flows& flows, Arrival arrival)
    : clients_(clients), network_(network), flows_(flows), arrival_(std::move(arrival)) {
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

void FlowServerLinks::start(Way way, int client, Bytes bytes, Seconds /*now*/) {
  const Plan plan = way == Way::push ? push_plan(clients_, client, servers_) : pull_plan(clients_, client, servers_);
  const std::vector<Message>& messages = plan.stages.front().messages;
  const auto left = std::make_shared<std::size_t>(messages.size());
  for (const Message& message : messages) {
    flows_.start(message.from, message.to, bytes / static_cast<double>(messages.size()), [this, way, client, left](Seconds end) {
      if (--*left == 0) arrival_(way, client, end);
    });
  }
}

}  // namespace syncopate
