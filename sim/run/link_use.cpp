#include "run/link_use.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "run/crossings.hpp"

namespace syncopate {

namespace {

/// What moves over a link, as it changes.
class RateOverTime {
 public:
  void add(const Interval& moving, Bytes bytes) {
    if (bytes == Bytes(0) || moving.end <= moving.start) return;
    const Rate rate(bytes.value / (moving.end - moving.start).value);
    edges_.push_back({moving.start, rate, 1});
    edges_.push_back({moving.end, Rate(-rate.value), -1});
  }

  std::vector<LinkUse::Change> relative_to(Rate bandwidth) {
    std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
    std::vector<LinkUse::Change> changes;
    double rate = 0.0;
    int moving = 0;
    for (auto edge = edges_.begin(); edge != edges_.end();) {
      const Seconds at = edge->at;
      for (; edge != edges_.end() && edge->at <= at * (1.0 + rounding); ++edge) {
        rate += edge->change.value;
        moving += edge->more;
      }
      if (moving == 0) rate = 0.0;  // but for rounding errors
      changes.push_back({at, rate / bandwidth.value});
    }
    return changes;
  }

 private:
  struct Edge {
    Seconds at;
    Rate change;
    int more;  ///< messages
  };
  std::vector<Edge> edges_;
};

/// Which share of a message's bytes crosses each of the links.
class Messages {
 public:
  Messages(const std::vector<LinkLoad>& links, const JobTimeline& timeline, Setup& setup)
      : links_(links), legs_(timeline, setup), network_(setup.network()) {}

  const std::vector<double>& shares(const MessageSpan& message) {
    const auto [entry, is_new] = known_.try_emplace({message.kind, message.worker, message.to}, links_.size());
    std::vector<double>& shares = entry->second;
    if (!is_new) return shares;
    for (const Leg& leg : legs_.of(message.kind, message.worker, message.to)) {
      const std::vector<std::size_t>& crossed = network_.path(leg.from, leg.to).links;
      for (std::size_t i = 0; i < links_.size(); ++i) {
        if (std::find(crossed.begin(), crossed.end(), links_[i].link) != crossed.end()) shares[i] += leg.share;
      }
    }
    return shares;
  }

 private:
  const std::vector<LinkLoad>& links_;
  Legs legs_;
  Network& network_;
  std::map<std::tuple<TransferSpan::Kind, int, int>, std::vector<double>> known_;
};

bool are_alike(const LinkUse& one, const LinkUse& other) {
  return std::equal(one.changes.begin(), one.changes.end(), other.changes.begin(), other.changes.end(),
                    [](const LinkUse::Change& a, const LinkUse::Change& b) {
                      return a.at == b.at && std::abs(a.utilisation - b.utilisation) <= 1e-9 * std::max(a.utilisation, b.utilisation);
                    });
}

}  // namespace

std::vector<LinkUse> use_over_time(const std::vector<LinkLoad>& links, const JobTimeline& timeline, Setup& setup) {
  std::vector<RateOverTime> rates(links.size());
  visit_collectives(timeline, setup.planned(), [&](const PlannedCollective& collective, const Interval& moving, Bytes bytes) {
    const std::vector<double>& shares = collective.loads();
    for (std::size_t i = 0; i < links.size(); ++i) {
      if (links[i].link < shares.size()) rates[i].add(moving, shares[links[i].link] * bytes);
    }
  });
  Messages messages(links, timeline, setup);
  for (const MessageSpan& message : timeline.messages) {
    const std::vector<double>& shares = messages.shares(message);
    for (std::size_t i = 0; i < links.size(); ++i) rates[i].add(message.moving, shares[i] * message.bytes);
  }
  std::vector<LinkUse> uses;
  for (std::size_t i = 0; i < links.size(); ++i) {
    LinkUse use = {links[i].name, links[i].bandwidth, rates[i].relative_to(links[i].bandwidth)};
    const auto same = std::find_if(uses.begin(), uses.end(), [&](const LinkUse& one) { return are_alike(one, use); });
    if (same == uses.end()) {
      uses.push_back(std::move(use));
    } else {
      same->others_alike = true;
    }
  }
  return uses;
}

}  // namespace syncopate
