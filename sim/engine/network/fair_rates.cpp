#include "engine/network/fair_rates.hpp"

#include <algorithm>
#include <limits>

namespace syncopate {

void FairRates::set_bandwidth(std::size_t link, Rate bandwidth) {
  if (link >= links_.size()) links_.resize(link + 1);
  links_[link].bandwidth = bandwidth.value;
  ask(static_cast<Index>(link));
}

void FairRates::ask(Index link) {
  if (links_[link].is_asked) return;
  links_[link].is_asked = true;
  asked_.push_back(link);
}

void FairRates::add(std::size_t flow, std::span<const std::size_t> links, Rate limit, int weight) {
  if (flow >= flows_.size()) flows_.resize(flow + 1);
  Flow& added = flows_[flow];
  added.limit = limit.value;
  added.rate = 0.0;
  added.weight = static_cast<Index>(weight);
  added.held_by = added.stopped_by = none;
  added.crossings.clear();
  for (const std::size_t index : links) {
    SharedLink& link = links_[index];
    link.flows.push_back({static_cast<Index>(flow), static_cast<Index>(added.crossings.size())});
    added.crossings.push_back({static_cast<Index>(index), static_cast<Index>(link.flows.size() - 1)});
  }
  added_.push_back(static_cast<Index>(flow));
}

void FairRates::remove(std::size_t flow) {
  Flow& removed = flows_[flow];
  for (const Crossing& crossing : removed.crossings) {
    SharedLink& link = links_[crossing.link];
    if (link.held > 0) ask(crossing.link);
    if (removed.held_by == crossing.link) --link.held;
    const Member last = link.flows.back();
    link.flows[crossing.place] = last;
    flows_[last.flow].crossings[last.position].place = crossing.place;
    link.flows.pop_back();
    link.used = link.flows.empty() ? 0.0 : link.used - removed.rate;
  }
  removed.crossings.clear();
}

void FairRates::set_limit(std::size_t flow, Rate limit) {
  flows_[flow].limit = limit.value;
  added_.push_back(static_cast<Index>(flow));
}

std::span<const std::size_t> FairRates::update() {
  constexpr int most_attempts = 4;  // then all flows are reached that have links in common
  changed_.clear();
  for (int attempt = 1;; ++attempt) {
    reach_from_changes(attempt > most_attempts);
    count_partly_reached();
    if (fill()) break;
  }
  for (const Index flow : reached_) keep(flow);
  for (const Index link : asked_) links_[link].is_asked = false;
  asked_.clear();
  added_.clear();
  return changed_;
}

void FairRates::reach(Index flow) {
  if (flows_[flow].seen == attempts_) return;
  flows_[flow].seen = attempts_;
  flows_[flow].is_growing = true;
  reached_.push_back(flow);
}

void FairRates::reach_whole(Index index) {
  SharedLink& link = links_[index];
  link.seen = attempts_;
  link.is_whole = true;
  link.left = link.bandwidth;
  link.growing = 0;
  for (const Member& member : link.flows) {
    link.growing += flows_[member.flow].weight;
    reach(member.flow);
  }
  if (link.flows.size() > 1) stops_.push_back({link.left / link.growing, index, true});
}

void FairRates::reach_from_changes(bool everything) {
  ++attempts_;
  reached_.clear();
  partly_.clear();
  stops_.clear();
  for (const Index link : asked_) reach_whole(link);
  for (const Index flow : added_) {
    if (!flows_[flow].crossings.empty()) reach(flow);
  }
  for (std::size_t next = 0; next < reached_.size();) reach_links_of(reached_[next++], everything);
}

void FairRates::reach_links_of(Index index, bool everything) {
  Flow& flow = flows_[index];
  double own = flow.limit;
  double shared = std::numeric_limits<double>::infinity();
  flow.narrowest_own = none;
  for (const Crossing& crossing : flow.crossings) {
    SharedLink& link = links_[crossing.link];
    if (link.flows.size() == 1) {
      if (link.bandwidth < own) flow.narrowest_own = crossing.link;
      own = std::min(own, link.bandwidth);
      continue;
    }
    shared = std::min(shared, link.bandwidth);
    if (link.seen == attempts_) continue;
    if (everything || link.held > 0) {
      reach_whole(crossing.link);
      continue;
    }
    link.seen = attempts_;
    link.is_whole = false;
    partly_.push_back(crossing.link);
  }
  if (own < shared) stops_.push_back({own / flow.weight, index, false});
}

void FairRates::count_partly_reached() {
  if (partly_.empty()) return;
  for (const Index index : partly_) {
    links_[index].left = links_[index].bandwidth - links_[index].used;
    links_[index].growing = 0;
  }
  for (const Index flow : reached_) {
    for (const Crossing& crossing : flows_[flow].crossings) {
      SharedLink& link = links_[crossing.link];
      if (link.is_whole || link.flows.size() == 1) continue;
      link.left += flows_[flow].rate;
      link.growing += flows_[flow].weight;
    }
  }
  for (const Index index : partly_) {
    SharedLink& link = links_[index];
    link.left = std::max(0.0, link.left);
    stops_.push_back({link.left / link.growing, index, true});
  }
}

/// Returns false if a link that is reached in part holds back a flow; all of its flows are asked for then.
bool FairRates::fill() {
  bool is_done = true;
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
      settle(flow, level, flow.narrowest_own, none);
      continue;
    }
    SharedLink& link = links_[stop.index];
    if (link.growing == 0) continue;
    const double share = link.left / link.growing;
    if (share > stop.rate * (1.0 + rounding)) {  // some of its flows are limited by other links
      stops_.push_back({share, stop.index, true});
      std::push_heap(stops_.begin(), stops_.end());
      continue;
    }
    if (!link.is_whole) {
      ask(stop.index);
      is_done = false;
    }
    rise(share);
    for (const Member& member : link.flows) {
      Flow& flow = flows_[member.flow];
      if (flow.seen == attempts_ && flow.is_growing) settle(flow, level, stop.index, stop.index);
    }
  }
  return is_done;
}

std::size_t FairRates::limiting_link(std::size_t flow) const {
  const Flow& limited = flows_[flow];
  if (limited.stopped_by != none) return limited.stopped_by;
  const auto narrower = [this](const Crossing& a, const Crossing& b) { return links_[a.link].bandwidth < links_[b.link].bandwidth; };
  return std::min_element(limited.crossings.begin(), limited.crossings.end(), narrower)->link;
}

void FairRates::settle(Flow& flow, double level, Index held_by, Index stopped_by) {
  flow.next_rate = flow.weight * level;
  flow.next_held_by = held_by;
  flow.next_stopped_by = stopped_by;
  flow.is_growing = false;
  for (const Crossing& crossing : flow.crossings) {
    SharedLink& link = links_[crossing.link];
    link.left = std::max(0.0, link.left - flow.next_rate);
    link.growing -= flow.weight;
  }
}

/// Takes over what the last attempt has found.
void FairRates::keep(Index index) {
  Flow& flow = flows_[index];
  if (flow.held_by != flow.next_held_by) {
    if (flow.held_by != none) --links_[flow.held_by].held;
    if (flow.next_held_by != none) ++links_[flow.next_held_by].held;
    flow.held_by = flow.next_held_by;
  }
  flow.stopped_by = flow.next_stopped_by;
  const double rate = flow.next_rate;
  if (flow.rate >= rate * (1.0 - rounding) && flow.rate <= rate * (1.0 + rounding)) return;
  for (const Crossing& crossing : flow.crossings) links_[crossing.link].used += rate - flow.rate;
  flow.rate = rate;
  changed_.push_back(index);
}

}  // namespace syncopate
