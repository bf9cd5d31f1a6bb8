#include "engine/network/fair_rates.hpp"

#include <algorithm>
#include <limits>

namespace syncopate {

void FairRates::set_bandwidth(std::size_t link, Rate bandwidth) {
  if (link >= links_.size()) links_.resize(link + 1);
  links_[link].bandwidth = bandwidth.value;
  touch(link);
}

void FairRates::touch(std::size_t link) {
  if (links_[link].is_touched) return;
  links_[link].is_touched = true;
  touched_.push_back(link);
}

void FairRates::add(std::size_t flow, std::span<const std::size_t> links, Rate limit, int weight) {
  if (flow >= flows_.size()) flows_.resize(flow + 1);
  Flow& added = flows_[flow];
  added.limit = limit.value;
  added.rate = 0.0;
  added.weight = static_cast<Index>(weight);
  added.crossings.clear();
  for (const std::size_t index : links) {
    SharedLink& link = links_[index];
    link.flows.push_back({static_cast<Index>(flow), static_cast<Index>(added.crossings.size())});
    added.crossings.push_back({static_cast<Index>(index), static_cast<Index>(link.flows.size() - 1)});
    touch(index);
  }
}

void FairRates::remove(std::size_t flow) {
  for (const Crossing& crossing : flows_[flow].crossings) {
    SharedLink& link = links_[crossing.link];
    const Member last = link.flows.back();
    link.flows[crossing.place] = last;
    flows_[last.flow].crossings[last.position].place = crossing.place;
    link.flows.pop_back();
    touch(crossing.link);
  }
}

void FairRates::set_limit(std::size_t flow, Rate limit) {
  flows_[flow].limit = limit.value;
  touch(flows_[flow].crossings.front().link);
}

std::span<const std::size_t> FairRates::update() {
  ++updates_;
  changed_.clear();
  for (const std::size_t touched : touched_) {
    links_[touched].is_touched = false;
    if (links_[touched].flows.empty()) continue;
    const Index flow = links_[touched].flows.front().flow;
    if (flows_[flow].seen == updates_) continue;
    reach_all_from(flow);
    fill();
  }
  touched_.clear();
  return changed_;
}

void FairRates::reach(Index flow) {
  if (flows_[flow].seen == updates_) return;
  flows_[flow].seen = updates_;
  flows_[flow].is_growing = true;
  reached_.push_back(flow);
}

void FairRates::reach_all_from(Index flow) {
  reached_.clear();
  stops_.clear();
  reach(flow);
  for (std::size_t next = 0; next < reached_.size();) {
    const Index index = reached_[next++];
    double own = flows_[index].limit;
    double shared = std::numeric_limits<double>::infinity();
    for (const Crossing& crossing : flows_[index].crossings) {
      SharedLink& link = links_[crossing.link];
      if (link.flows.size() == 1) {
        own = std::min(own, link.bandwidth);
        continue;
      }
      shared = std::min(shared, link.bandwidth);
      if (link.seen == updates_) continue;
      link.seen = updates_;
      link.left = link.bandwidth;
      link.growing = 0;
      for (const Member& member : link.flows) {
        link.growing += flows_[member.flow].weight;
        reach(member.flow);
      }
      stops_.push_back({link.left / link.growing, crossing.link, true});
    }
    if (own < shared) stops_.push_back({own / flows_[index].weight, index, false});
  }
}

void FairRates::fill() {
  std::make_heap(stops_.begin(), stops_.end());
  for (double level = 0.0; !stops_.empty();) {
    std::pop_heap(stops_.begin(), stops_.end());
    const Stop stop = stops_.back();
    stops_.pop_back();
    // Treat rates that differ by a rounding error as equal, so that their flows end at the same time.
    const auto rise = [&level](double to) { level = to > level * (1.0 + rounding) ? to : level; };
    if (!stop.is_link) {
      Flow& flow = flows_[stop.index];
      if (!flow.is_growing) continue;
      rise(stop.rate);
      settle(flow, stop.index, level, none);
      continue;
    }
    const SharedLink& link = links_[stop.index];
    if (link.growing == 0) continue;
    const double share = link.left / link.growing;
    if (share > stop.rate * (1.0 + rounding)) {  // some of its flows are limited by other links
      stops_.push_back({share, stop.index, true});
      std::push_heap(stops_.begin(), stops_.end());
      continue;
    }
    rise(share);
    for (const Member& member : link.flows) {
      if (flows_[member.flow].is_growing) settle(flows_[member.flow], member.flow, level, stop.index);
    }
  }
}

std::size_t FairRates::limiting_link(std::size_t flow) const {
  const Flow& limited = flows_[flow];
  if (limited.stopped_by != none) return limited.stopped_by;
  const auto narrower = [this](const Crossing& a, const Crossing& b) { return links_[a.link].bandwidth < links_[b.link].bandwidth; };
  return std::min_element(limited.crossings.begin(), limited.crossings.end(), narrower)->link;
}

void FairRates::settle(Flow& flow, Index index, double level, Index stopped_by) {
  const double rate = flow.weight * level;
  flow.is_growing = false;
  flow.stopped_by = stopped_by;
  for (const Crossing& crossing : flow.crossings) {
    SharedLink& link = links_[crossing.link];
    link.left = std::max(0.0, link.left - rate);
    link.growing -= flow.weight;
  }
  if (flow.rate >= rate * (1.0 - rounding) && flow.rate <= rate * (1.0 + rounding)) return;
  flow.rate = rate;
  changed_.push_back(index);
}

}  // namespace syncopate
