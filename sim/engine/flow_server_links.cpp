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
  const MessageName name = {way == Way::push ? MessageName::push : MessageName::pull, started_[{way, client}]++};
  std::map<Seconds, std::vector<Ends>> parts;  // by the time from which they move
  for (const int server : network_.server_ranks()) {
    if (server == client) continue;
    const Ends ends = way == Way::push ? Ends(client, server) : Ends(server, client);
    Seconds& last = lines_[{way, ends}].last;
    last = std::max(last, at + latency_.at(ends.first, ends.second, name, at));
    parts[last].push_back(ends);
  }
  for (auto& [moves_at, together] : parts) {
    clock_.at(moves_at, [this, way, together = std::move(together), part, ended, now = moves_at] {
      for (const Ends& ends : together) add({way, ends}, {part, ended}, now);
    });
  }
}

void FlowServerLinks::add(const LineName& name, Part part, Seconds now) {
  std::deque<Part>& parts = lines_[name].parts;
  parts.push_back(std::move(part));
  if (parts.size() == 1) begin(name, now);
}

void FlowServerLinks::begin(const LineName& name, Seconds now) {
  flows_.start(name.second.first, name.second.second, lines_[name].parts.front().bytes, now, [this, name](Seconds end) {
    std::deque<Part>& parts = lines_[name].parts;
    const std::function<void(Seconds)> ended = std::move(parts.front().ended);
    parts.pop_front();
    if (!parts.empty()) begin(name, end);
    ended(end);
  });
}

}  // namespace syncopate
