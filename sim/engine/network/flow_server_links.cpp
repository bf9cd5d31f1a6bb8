#include "engine/network/flow_server_links.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace syncopate {

FlowServerLinks::FlowServerLinks(Network& network, Flows& flows, MessageLatency latency, bool join, Arrival arrival, Clock& clock)
    : network_(network), flows_(flows), latency_(latency), arrival_(std::move(arrival)), clock_(clock) {
  if (join) {
    groups_ = network.alike_servers();
    return;
  }
  for (const int server : network.server_ranks()) groups_.push_back({server, server});
}

void FlowServerLinks::widen_links(Way way, int client, const Network::ServerGroup& group) {
  if (group.servers == 1) return;
  const auto links = [&](int server) -> const std::vector<std::size_t>& {
    return (way == Way::push ? network_.path(client, server) : network_.path(server, client)).links;
  };
  const std::vector<std::size_t>& others = links(group.second);
  for (const std::size_t link : links(group.first)) {
    if (std::find(others.begin(), others.end(), link) == others.end()) flows_.widen(link, group.servers);
  }
}

int FlowServerLinks::other_servers(int client) const {
  const std::vector<int>& servers = network_.server_ranks();
  return static_cast<int>(servers.end() - servers.begin() - std::count(servers.begin(), servers.end(), client));
}

double FlowServerLinks::moved_share(int client) const {
  return other_servers(client) / static_cast<double>(network_.server_ranks().size());
}

Moment FlowServerLinks::pass(Way way, int client, const Moment& at) const {
  Seconds longest;
  int link = Network::of_nodes;
  for (const Network::ServerGroup& group : groups_) {
    if (group.first == client) continue;
    const auto [from, to] = ends_of(way, client, group.first);
    const Seconds latency = latency_.mean_at(from, to, at.time);
    if (latency <= longest) continue;
    longest = latency;
    link = network_.group_between(from, to);
  }
  return after(at, longest, {.kind = PathClass::latency, .worker = client, .link = link});
}

void FlowServerLinks::start(Way way, int client, Bytes bytes, const Moment& at) {
  const Bytes part = bytes / other_servers(client);
  const auto left = std::make_shared<int>(0);
  const auto ended = [this, way, client, left](const Moment& end) {
    if (--*left == 0) arrival_(way, client, end);
  };
  const MessageName name = {way == Way::push ? MessageName::push : MessageName::pull, started_[{way, client}]++};
  struct Started {
    Ends ends;
    Moment since;
    int servers = 1;
    Seconds latency;
  };
  std::map<Seconds, std::vector<Started>> parts;  // by start of the transfer
  for (const Network::ServerGroup& group : groups_) {
    const int server = group.first;
    if (server == client) continue;
    ++*left;
    const Ends ends = ends_of(way, client, server);
    const auto [line, is_new] = lines_.try_emplace(LineName{way, ends});
    if (is_new) widen_links(way, client, group);
    Moment& last = line->second.last;
    const Seconds latency = latency_.at(ends.first, ends.second, name, at.time);
    const Why why = {.kind = PathClass::latency,
                     .worker = client,
                     .link = at.cause ? network_.group_between(ends.first, ends.second) : -1,
                     .usual = latency_.mean_at(ends.first, ends.second, at.time)};
    last = latest(flows_.take_latency() ? at : after(at, latency, why), last);
    parts[last.time].push_back({ends, last, group.servers, latency});
  }
  for (auto& [moves_at, together] : parts) {
    clock_.at(moves_at, [this, way, together = std::move(together), part, ended] {
      for (const Started& started : together)
        add({way, started.ends}, {started.servers * part, started.servers, ended, started.since, started.latency});
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
  const auto end_of_first = [this, name](const Moment& end) {
    std::deque<Part>& parts = lines_[name].parts;
    const std::function<void(const Moment&)> ended = std::move(parts.front().ended);
    parts.pop_front();
    if (!parts.empty()) begin(name, end);
    ended(end);
  };
  const Part& first = lines_[name].parts.front();
  flows_.start({&network_, from, to, first.bytes, first.latency, nullptr, first.servers}, now, end_of_first);
}

}  // namespace syncopate
