#include <utility>

#include "collective/plan.hpp"

namespace syncopate {

Plan push_plan(int ranks, int client, const std::vector<int>& servers) {
  const int parts = static_cast<int>(servers.size());
  Plan plan = {.ranks = ranks, .parts = parts, .block = parts, .stages = {Stage()}};
  for (int part = 0; part < plan.parts; ++part) {
    const int server = servers[static_cast<std::size_t>(part)];
    if (server != client) plan.stages.front().messages.push_back({client, server, part, 1});
  }
  return plan;
}

Plan pull_plan(int ranks, int client, const std::vector<int>& servers) {
  Plan plan = push_plan(ranks, client, servers);
  for (Message& message : plan.stages.front().messages) std::swap(message.from, message.to);
  return plan;
}

Plan peer_plan(int ranks, int from, int to) {
  Plan plan = {.ranks = ranks, .stages = {Stage()}};
  plan.stages.front().messages.push_back({from, to});
  return plan;
}

}  // namespace syncopate
