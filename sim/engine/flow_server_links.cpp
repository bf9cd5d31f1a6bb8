#include "engine/flow_server_links.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace syncopate {

FlowServerLinks::FlowServerLinks(Network& network, Flows& flows, MessageLatency latency, Arrival arrival, Clock& clock)
    : network_(network), flows_(flows), latency_(latency), arrival_(std::move(arrival)), clock_(clock) {}

std::size_t FlowServerLinks::others(int client) const {
  const std::vector<int>& servers = network_.server_ranks();
  return servers.size() - static_cast<std::size_t>(std::count(servers.begin(), servers.end(), client));
}

double FlowServerLinks::moved_share(int client) const {
  return static_cast<double>(others(client)) / static_cast<double>(network_.server_ranks().size());
}

void FlowServerLinks::start(Way way, int client, Bytes bytes, Seconds at) {
  const auto left = std::make_shared<std::size_t>(others(client));
  const Bytes part = bytes / static_cast<double>(*left);
  const auto ended = [this, way, client, left](Seconds end) {
    if (--*left == 0) arrival_(way, client, end);
  };
  using Ends = std::pair<int, int>;
  const MessageName name = {way == Way::push ? MessageName::push : MessageName::pull, started_[{way, client}]++};
  std::map<Seconds, std::vector<Ends>> parts;  // by latency
  for (const int server : network_.server_ranks()) {
    if (server == client) continue;
    const Ends ends = way == Way::push ? Ends(client, server) : Ends(server, client);
    parts[latency_.at(ends.first, ends.second, name, at)].push_back(ends);
  }
  for (auto& [latency, together] : parts) {
    const Seconds moves_at = at + latency;
    clock_.at(moves_at, [this, together = std::move(together), part, ended, moves_at] {
      for (const auto& [from, to] : together) flows_.start(from, to, part, moves_at, ended);
    });
  }
}

}  // namespace syncopate
