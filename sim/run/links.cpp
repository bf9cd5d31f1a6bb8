#include "run/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "base/interval_union.hpp"
#include "cluster/picture.hpp"
#include "engine/simulate.hpp"
#include "run/crossings.hpp"
#include "run/run_plan.hpp"

namespace syncopate {

namespace {

/// Adds up bytes by link.
class Loads {
 public:
  explicit Loads(Network& network) : network_(network) {}

  void add(std::size_t link, Bytes bytes) {
    if (link >= bytes_.size()) bytes_.resize(link + 1);
    bytes_[link] += bytes;
  }

  void add_between_nodes(Bytes bytes) { between_nodes_ += bytes; }

  void add_message(int from, int to, Bytes bytes) {
    if (!network_.share_node(from, to)) add_between_nodes(bytes);
    for (const std::size_t link : network_.path(from, to).links) add(link, bytes);
  }

  const std::vector<Bytes>& bytes() const { return bytes_; }
  Bytes between_nodes() const { return between_nodes_; }

 private:
  Network& network_;
  std::vector<Bytes> bytes_;
  Bytes between_nodes_;
};

void add_collectives(const JobTimeline& timeline, PlannedCollectives& planned, Loads& loads) {
  std::vector<std::pair<const PlannedCollective*, Bytes>>
      moved;  // of the plan, in the order of time, so that sums are the same in every run
  std::map<const PlannedCollective*, std::size_t> places;
  visit_collectives(timeline, planned, [&](const MovingCollective& collective) {
    const auto [place, is_new] = places.try_emplace(&collective.planned, moved.size());
    if (is_new) moved.emplace_back(&collective.planned, Bytes(0));
    moved[place->second].second += timeline.window.share(collective.moving) * collective.bytes();
  });
  for (const auto& [collective, data] : moved) {
    loads.add_between_nodes(collective->between_nodes() * data);
    const std::vector<double>& shares = collective->loads();
    for (std::size_t link = 0; link < shares.size(); ++link) loads.add(link, shares[link] * data);
  }
}

/// How long in the window something that crosses the link is in flight. What goes to servers or from rank to rank counts for all links.
Seconds in_use(const JobTimeline& timeline, PlannedCollectives& planned, std::size_t link) {
  std::vector<Interval> intervals;
  for (const CollectiveSpan& span : timeline.collectives) {
    const Communicator& communicator = timeline.streams[static_cast<std::size_t>(span.stream)];
    const std::vector<double>& shares = planned(span.operation, communicator, span.payload->bytes).loads();
    if (link < shares.size() && shares[link] > 0.0) intervals.push_back({span.start, span.end});
  }
  for (const std::vector<Interval>& channel : timeline.channels) intervals.insert(intervals.end(), channel.begin(), channel.end());
  return IntervalUnion(std::move(intervals)).covered(timeline.window.open, timeline.window.close);
}

void add_messages(const JobTimeline& timeline, const Setup& setup, Loads& loads) {
  using Kind = TransferSpan::Kind;
  const Legs legs(timeline, setup);
  const auto add = [&](Bytes bytes, Kind kind, int worker, int to = -1) {
    for (const Leg& leg : legs.of(kind, worker, to)) loads.add_message(leg.from, leg.to, leg.share * bytes);
  };
  for (std::size_t worker = 0; worker < timeline.server_traffic.size(); ++worker) {
    add(timeline.server_traffic[worker].pushed, Kind::push, static_cast<int>(worker));
    add(timeline.server_traffic[worker].pulled, Kind::pull, static_cast<int>(worker));
  }
  for (const auto& [pair, bytes] : timeline.peer_traffic) add(bytes, Kind::send, pair.first, pair.second);
}

}  // namespace

namespace {

Loads loads_of(const JobTimeline& timeline, Setup& setup) {
  Loads loads(setup.network());
  add_collectives(timeline, setup.planned(), loads);
  add_messages(timeline, setup, loads);
  return loads;
}

}  // namespace

std::vector<Bytes> bytes_over_links(const JobTimeline& timeline, Setup& setup) { return loads_of(timeline, setup).bytes(); }

std::vector<BusyLink> busiest_links(std::vector<BusyLink> links, std::size_t most, const Network& network) {
  std::sort(links.begin(), links.end(), [](const BusyLink& a, const BusyLink& b) { return a.utilisation > b.utilisation; });
  // A rounding error does not make one link busier than another.
  for (auto first = links.begin(); first != links.end() && first - links.begin() < static_cast<std::ptrdiff_t>(most);) {
    const double least = first->utilisation * (1.0 - 1e-9);
    const auto last = std::find_if(first, links.end(), [&](const BusyLink& one) { return one.utilisation < least; });
    std::sort(first, last, [&](const BusyLink& a, const BusyLink& b) { return network.comes_before(a.link, b.link); });
    first = last;
  }
  links.resize(std::min(links.size(), most));
  return links;
}

NetworkLoad network_load(const JobTimeline& timeline, Setup& setup, std::size_t most_links) {
  const Loads loads = loads_of(timeline, setup);
  const Seconds window = timeline.window.close - timeline.window.open;
  std::vector<BusyLink> busy;
  NetworkLoad load = {loads.between_nodes(), Bytes(0), {}};
  for (std::size_t link = 0; link < loads.bytes().size(); ++link) {
    const Bytes bytes = loads.bytes()[link];
    if (!setup.network().is_inside_node(link)) load.most = std::max(load.most, bytes);
    if (bytes != Bytes(0)) busy.push_back({link, bytes / (setup.network().bandwidth(link) * window)});
  }
  for (const BusyLink& one : busiest_links(std::move(busy), most_links, setup.network())) {
    const NetworkLink its = setup.network().link(one.link);
    const Seconds used = in_use(timeline, setup.planned(), one.link);
    const Bytes bytes = loads.bytes()[one.link];
    const double in_use = used > Seconds(0) ? bytes / (its.bandwidth * used) : one.utilisation;
    load.links.push_back({one.link, its.name, its.bandwidth, bytes, one.utilisation, in_use});
  }
  return load;
}

std::string draw_use(const Point& point) {
  const Cluster& cluster = point.scenario.cluster;
  Setup setup(point.scenario, {});
  if (setup.network().nodes() > most_nodes_in_picture) {
    throw SimulationError(
        fmt::format("a picture of {} nodes cannot be read; use at most {}", setup.network().nodes(), most_nodes_in_picture));
  }
  const Fidelity fidelity = plan_of(setup).fidelity;
  if (fidelity == Fidelity::alpha_beta) {
    throw SimulationError("alpha-beta fidelity does not know what crosses which link; use \"fidelity\": \"per-message\" or \"flow\"");
  }
  const Timeline timeline = simulate({setup.job(fidelity)}, setup.network());
  CableUse use;
  for (const LinkLoad& link : network_load(timeline.front(), setup, std::numeric_limits<std::size_t>::max()).links) {
    double& busier = use[setup.network().link(link.link).cable];
    busier = std::max(busier, link.utilisation);
  }
  return draw_network(cluster, setup.network(), use);
}

}  // namespace syncopate
