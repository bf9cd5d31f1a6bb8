#include "cluster/planned.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/indexed.hpp"

namespace syncopate {

namespace {

/// What a rank sends to another one in the whole plan, as a share of the data.
struct Sent {
  int from = 0;
  int to = 0;
  double share = 0.0;
};

template <class Function>
void for_each_message(const Plan& plan, Function&& function) {
  for (const PlanStep& step : plan.steps) {
    const auto* stage = std::get_if<Stage>(&step);
    if (stage == nullptr) continue;
    for (const Message& message : stage->messages) function(*stage, message);
  }
}

/// One entry per pair of ranks, by sender, then by receiver.
std::vector<Sent> sent_by_pair(const Plan& plan) {
  std::vector<std::size_t> ends(at(plan.ranks) + 1);  // where the sender's entries end
  for_each_message(plan, [&](const Stage&, const Message& message) { ++ends[at(message.from) + 1]; });
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<Sent> sent(ends.back());
  for_each_message(plan, [&](const Stage& stage, const Message& message) {
    sent[ends[at(message.from)]++] = {message.from, message.to, static_cast<double>(stage.repeats) * message.parts / plan.parts};
  });
  std::size_t pairs = 0;
  for (std::size_t rank = 0, first = 0; rank + 1 < ends.size(); first = ends[rank++]) {
    const auto begin = sent.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = sent.begin() + static_cast<std::ptrdiff_t>(ends[rank]);
    std::sort(begin, end, [](const Sent& a, const Sent& b) { return std::pair(a.to, a.share) < std::pair(b.to, b.share); });
    for (auto entry = begin; entry != end; ++entry) {
      if (entry != begin && entry->to == sent[pairs - 1].to) {
        sent[pairs - 1].share += entry->share;
      } else {
        sent[pairs++] = *entry;
      }
    }
  }
  sent.resize(pairs);
  return sent;
}

/// How many ranks send and receive over a link. At any time a rank sends one message and receives one.
struct Crossing {
  int senders = 0;
  int receivers = 0;
  int last_sender = -1;
  int last_receiver = -1;
  Rate fastest{};
};

}  // namespace

PlannedCollective::PlannedCollective(Plan plan, Communicator members, Network& network, SecondsPerByte gamma)
    : members_(std::move(members)),
      network_(network),
      times_(
          std::move(plan), [this](const Message& message) { return network_.hop(members_.rank(message.from), members_.rank(message.to)); },
          gamma),
      ways_(times_.plan().steps.size()) {}

std::vector<PlannedCollective::Way> PlannedCollective::find_ways(const Stage& stage) const {
  std::vector<Way> ways;
  ways.reserve(stage.messages.size());
  for (const Message& message : stage.messages) {
    const int from = members_.rank(message.from);
    const int to = members_.rank(message.to);
    if (!can_share()) {
      ways.push_back({network_.hop(from, to)});
      continue;
    }
    const Path path = network_.find_path(from, to);
    const auto is_shared = [this](std::size_t link) { return crossed().shared[link]; };
    ways.push_back({path.hop(), std::any_of(path.links.begin(), path.links.end(), is_shared)});
  }
  return ways;
}

PlannedCollective::Crossed PlannedCollective::find_crossed() const {
  std::vector<Sent> sent = sent_by_pair(plan());
  std::vector<Crossing> crossings;
  Crossed crossed;
  const auto cross = [&](const Sent& entry, auto&& function) {
    const Path path = network_.find_path(members_.rank(entry.from), members_.rank(entry.to));
    crossings.resize(network_.count_links());
    crossed.loads.resize(network_.count_links());
    for (std::size_t i = 0; i < path.links.size(); ++i) function(path.links[i], path.rate_over(i));
  };
  for (const Sent& entry : sent) {
    if (!network_.share_node(members_.rank(entry.from), members_.rank(entry.to))) crossed.between_nodes += entry.share;
    cross(entry, [&](std::size_t link, Rate rate) {
      Crossing& crossing = crossings[link];
      if (std::exchange(crossing.last_sender, entry.from) != entry.from) ++crossing.senders;
      crossing.fastest = std::max(crossing.fastest, rate);
      crossed.loads[link] += entry.share;
    });
  }
  std::sort(sent.begin(), sent.end(), [](const Sent& a, const Sent& b) { return std::pair(a.to, a.from) < std::pair(b.to, b.from); });
  for (const Sent& entry : sent) {
    cross(entry, [&](std::size_t link, Rate /*rate*/) {
      if (std::exchange(crossings[link].last_receiver, entry.to) != entry.to) ++crossings[link].receivers;
    });
  }
  crossed.shared.reserve(crossings.size());
  for (std::size_t link = 0; link < crossings.size(); ++link) {
    const Crossing& crossing = crossings[link];
    const double most = std::min(crossing.senders, crossing.receivers) * crossing.fastest.value;
    crossed.shared.push_back(network_.changes(link) || most > network_.bandwidth(link).value * (1.0 + rounding));
  }
  crossed.any_shared = std::find(crossed.shared.begin(), crossed.shared.end(), true) != crossed.shared.end();
  return crossed;
}

PlannedCollectives::PlannedCollectives(const Cluster& cluster, AllReduce all_reduce, Network& network, int ranks_per_node)
    : cluster_(cluster), all_reduce_(std::move(all_reduce)), network_(network), ranks_per_node_(ranks_per_node) {
  for (const AllReduce& candidate : all_reduce_.candidates)
    candidates_.push_back(std::make_unique<PlannedCollectives>(cluster, candidate, network, ranks_per_node));
}

PlannedCollectives::Layout PlannedCollectives::layout(const Communicator& communicator) {
  if (all_reduce_.across_gpus) return {{communicator.size(), 1}, {}};
  const NodeLayout nodes = layout_on_nodes(communicator, ranks_per_node_);
  Layout layout = {{static_cast<int>(nodes.nodes.size()), nodes.ranks_per_node}, {}};
  for (const int node : nodes.nodes) {
    if (cluster_.regions) layout.nodes.regions.push_back(network_.region_of(node * ranks_per_node_));
  }
  layout.nodes.largest_region = largest_region(layout.nodes.regions);
  if (!all_reduce_.algorithm->is_pipelined) return layout;
  const Plan whole = make_plan(all_reduce_, Operation::all_reduce, layout.nodes, {});
  for_each_message(whole, [&](const Stage& stage, const Message& message) {
    if (stage.inside) return;
    const Hop hop = network_.hop(communicator.rank(message.from), communicator.rank(message.to));
    const Bytes under_way(hop.latency.value / hop.beta.value);
    if (under_way > layout.longest_way.under_way) layout.longest_way = {under_way, gamma() / hop.beta};
  });
  return layout;
}

PlannedCollective& PlannedCollectives::operator()(Operation operation, const Communicator& communicator, Bytes bytes) {
  if (!has_candidates()) return plan(operation, communicator, bytes);
  const auto [entry, is_new] = chosen_.try_emplace({operation, communicator, bytes.value});
  if (!is_new) return *entry->second;
  Seconds least(std::numeric_limits<double>::infinity());
  for (const auto& candidate : candidates_) {
    const Seconds time = candidate->least_time(operation, communicator, bytes);
    if (time >= least) continue;
    least = time;
    entry->second = &candidate->plan(operation, communicator, bytes);
  }
  return *entry->second;
}

Seconds PlannedCollectives::least_time(Operation operation, const Communicator& communicator, Bytes bytes) {
  PlannedCollective& collective = plan(operation, communicator, bytes);
  Seconds time = collective.times().from_equal_starts(bytes);
  if (network_.is_star()) return time;
  const std::vector<double>& loads = collective.loads();
  for (std::size_t link = 0; link < loads.size(); ++link) {
    if (loads[link] > 0.0) time = std::max(time, loads[link] * bytes / network_.bandwidth(link));
  }
  return time;
}

PlannedCollective& PlannedCollectives::plan(Operation operation, const Communicator& communicator, Bytes bytes) {
  auto known_layout = layouts_.find(communicator);
  if (known_layout == layouts_.end()) known_layout = layouts_.try_emplace(communicator, layout(communicator)).first;
  const auto& [layout, longest_way] = known_layout->second;
  const Chunks chunks = chunks_of(all_reduce_, operation, layout, bytes, longest_way);
  const auto found = known_.find({operation, communicator, chunks});
  if (found != known_.end()) return found->second;
  Plan plan = make_plan(all_reduce_, operation, layout, chunks);
  plan.protocol = cluster_.protocol;
  return known_.try_emplace({operation, communicator, chunks}, std::move(plan), communicator, network_, cluster_.reduce).first->second;
}

bool PlannedCollectives::in_lockstep(Operation operation, const Communicator& communicator, Bytes bytes) {
  if (!has_candidates()) return plan(operation, communicator, bytes).times().in_lockstep();
  return std::all_of(candidates_.begin(), candidates_.end(),
                     [&](const auto& candidate) { return candidate->in_lockstep(operation, communicator, bytes); });
}

CostCurve PlannedCollectives::curve(Operation operation, const Communicator& communicator, Bytes bytes) {
  std::vector<CostLine> lines;
  const auto add = [&](PlannedCollectives& planned) {
    const Seconds latency = planned.least_time(operation, communicator, Bytes(0));
    const Seconds all = planned.least_time(operation, communicator, bytes);
    lines.push_back({latency, SecondsPerByte((all - latency).value / bytes.value)});
  };
  if (!has_candidates()) add(*this);
  for (const auto& candidate : candidates_) add(*candidate);
  return lowest(std::move(lines));
}

CollectiveTime PlannedCollectives::time(Operation operation, const Communicator& communicator, Bytes bytes) {
  PlannedCollective& collective = (*this)(operation, communicator, bytes);
  const Seconds latency = collective.times().from_equal_starts(Bytes(0));
  return {latency, collective.times().from_equal_starts(bytes) - latency};
}

}  // namespace syncopate
