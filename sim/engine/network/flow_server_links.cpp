#include "engine/network/flow_server_links.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace syncopate {

FlowServerLinks::FlowServerLinks(Network& network, Flows& flows, MessageLatency latency, Arrival arrival, Clock& clock)
    : network_(network), flows_(flows), latency_(latency), arrival_(std::move(arrival)), clock_(clock) {}

int FlowServerLinks::other_servers(int client) const {
  const std::vector<int>& servers = network_.server_ranks();
  return static_cast<int>(servers.end() - servers.begin() - std::count(servers.begin(), servers.end(), client));
}

double FlowServerLinks::moved_share(int client) const {
  return other_servers(client) / static_cast<double>(network_.server_ranks().size());
}

void FlowServerLinks::start(Way way, int client, Bytes bytes, const Moment& at) {
  const auto left = std::make_shared<int>(other_servers(client));
  const Bytes part = bytes / *left;
  const auto ended = [this, way, client, left](const Moment& end) {
    if (--*left == 0) arrival_(way, client, end);
  };
  const MessageName name = {way == Way::push ? MessageName::push : MessageName::pull, started_[{way, client}]++};
  std::map<Seconds, std::vector<std::pair<Ends, Moment>>> parts;  // by start of the transfer
  for (const int server : network_.server_ranks()) {
    if (server == client) continue;
    const Ends ends = way == Way::push ? Ends(client, server) : Ends(server, client);
    Moment& last = lines_[{way, ends}].last;
    const Seconds latency = latency_.at(ends.first, ends.second, name, at.time);
    const Why why = {.kind = PathClass::latency,
                     .worker = client,
                     .link = at.cause ? network_.group_between(ends.first, ends.second) : -1,
                     .usual = latency_.mean_at(ends.first, ends.second, at.time)};
    last = latest(after(at, latency, why), last);
    parts[last.time].emplace_back(ends, last);
  }
  for (auto& [moves_at, together] : parts) {
    clock_.at(moves_at, [this, way, together = std::move(together), part, ended] {
      for (const auto& [ends, since] : together) add({way, ends}, {part, ended, since});
    });
  }
}

void FlowServerLinks::add(const LineName& name, Part part) {
  std::deque<Part>& parts = lines_[name].parts;
  parts.push_back(std::move(part));
  if (parts.size() == 1) begin(name, parts.front().since);
}

void FlowServerLinks::begin(const LineName& name, const Moment& now) {
  const auto [from, to] = name.second;
  flows_.start(network_.path(from, to), to, lines_[name].parts.front().bytes, nullptr, now, [this, name](const Moment& end) {
    std::deque<Part>& parts = lines_[name].parts;
    const std::function<void(const Moment&)> ended = std::move(parts.front().ended);
    parts.pop_front();
    if (!parts.empty()) begin(name, end);
    ended(end);
  });
}

}  // namespace syncopate
