#include "cluster/planned.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace syncopate {

namespace {

/// What may be on a link at a time: a rank sends one message at a time, and receives one.
struct Crossing {
  std::set<int> senders;
  std::set<int> receivers;
  Rate fastest;
};

}  // namespace

PlannedCollective::PlannedCollective(Plan its_plan, const Network& network, SecondsPerByte gamma)
    : plan(std::move(its_plan)),
      times(
          plan, [&](const Message& message) { return network.path(message.from, message.to).hop(); }, gamma) {
  using Pair = std::pair<int, int>;
  std::vector<std::pair<Pair, double>> sent;  ///< from whom to whom, the share of the data
  for (const Stage& stage : plan.stages) {
    for (const Message& message : stage.messages) {
      sent.push_back({{message.from, message.to}, static_cast<double>(stage.repeats) * message.parts / plan.parts});
    }
  }
  std::sort(sent.begin(), sent.end());
  std::vector<Crossing> crossings(network.links().size());
  loads.resize(crossings.size());
  for (std::size_t i = 0; i < sent.size();) {
    const auto [from, to] = sent[i].first;
    double share = 0.0;
    for (; i < sent.size() && sent[i].first == Pair(from, to); ++i) share += sent[i].second;
    const Path& path = network.path(from, to);
    for (const std::size_t link : path.links) {
      crossings[link].senders.insert(from);
      crossings[link].receivers.insert(to);
      crossings[link].fastest = std::max(crossings[link].fastest, path.rate);
      loads[link] += share;
    }
  }
  shares.reserve(crossings.size());
  for (std::size_t link = 0; link < crossings.size(); ++link) {
    constexpr double rounding = 1e-12;
    const auto flows = static_cast<double>(std::min(crossings[link].senders.size(), crossings[link].receivers.size()));
    const NetworkLink& its = network.links()[link];
    shares.push_back(its.changes || flows * crossings[link].fastest.value > its.bandwidth.value * (1.0 + rounding));
  }
}

PlannedCollectives::PlannedCollectives(const Cluster& cluster, AllReduce all_reduce, const Network& network, int ranks_per_node)
    : cluster_(cluster), all_reduce_(std::move(all_reduce)), network_(network), ranks_per_node_(ranks_per_node) {}

PlannedCollective& PlannedCollectives::operator()(Operation operation, Bytes bytes) {
  const Chunks chunks = chunks_of(all_reduce_, cluster_.nodes, bytes);
  const auto found = known_.find({operation, chunks});
  if (found != known_.end()) return found->second;
  Plan plan = make_plan(all_reduce_, operation, cluster_.nodes, ranks_per_node_, chunks);
  return known_.try_emplace({operation, chunks}, std::move(plan), network_, cluster_.reduce).first->second;
}

}  // namespace syncopate
