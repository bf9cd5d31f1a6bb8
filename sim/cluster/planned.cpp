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

PlannedCollective::PlannedCollective(Plan its_plan, Communicator its_members, Network& network, SecondsPerByte gamma)
    : plan(std::move(its_plan)),
      members(std::move(its_members)),
      times(
          plan, [&](const Message& message) { return path(message, network).hop(); }, gamma) {
  using Pair = std::pair<int, int>;
  std::vector<std::pair<Pair, double>> sent;  ///< from whom to whom, the share of the data
  for (const PlanStep& step : plan.steps) {
    const auto* stage = std::get_if<Stage>(&step);
    if (stage == nullptr) continue;
    for (const Message& message : stage->messages) {
      sent.push_back(
          {{members.rank(message.from), members.rank(message.to)}, static_cast<double>(stage->repeats) * message.parts / plan.parts});
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
    const auto flows = static_cast<double>(std::min(crossings[link].senders.size(), crossings[link].receivers.size()));
    const NetworkLink& its = network.links()[link];
    shares.push_back(its.changes || flows * crossings[link].fastest.value > its.bandwidth.value * (1.0 + rounding));
  }
}

PlannedCollectives::PlannedCollectives(const Cluster& cluster, AllReduce all_reduce, Network& network, int ranks_per_node)
    : cluster_(cluster),
      all_reduce_(std::move(all_reduce)),
      network_(network),
      ranks_per_node_(ranks_per_node),
      under_way_(most_under_way(cluster)) {}

PlannedCollective& PlannedCollectives::operator()(Operation operation, const Communicator& communicator, Bytes bytes) {
  const auto [its, is_new] = layouts_.try_emplace(communicator);
  if (is_new) its->second = layout_on_nodes(communicator, ranks_per_node_);
  const int nodes = static_cast<int>(its->second.nodes.size());
  const int ranks_on_node = its->second.ranks_per_node;
  const Chunks chunks = chunks_of(all_reduce_, operation, nodes, ranks_on_node, bytes, under_way_);
  const auto found = known_.find({operation, communicator, chunks});
  if (found != known_.end()) return found->second;
  Plan plan = make_plan(all_reduce_, operation, nodes, ranks_on_node, chunks);
  return known_.try_emplace({operation, communicator, chunks}, std::move(plan), communicator, network_, cluster_.reduce).first->second;
}

CollectiveTime PlannedCollectives::time(Operation operation, const Communicator& communicator, Bytes bytes) {
  PlannedCollective& collective = (*this)(operation, communicator, bytes);
  const Seconds latency = collective.times.from_equal_starts(Bytes(0));
  return {latency, collective.times.from_equal_starts(bytes) - latency};
}

}  // namespace syncopate
