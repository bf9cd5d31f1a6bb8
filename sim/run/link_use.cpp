#include "run/link_use.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "base/indexed.hpp"
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

/// Of some links, what crosses each of them, spread over time. Time outside `shown` is left out.
class BytesOverTime {
 public:
  BytesOverTime(const Interval& shown, std::size_t links, std::size_t bins)
      : shown_(shown), length_((shown.end - shown.start) / static_cast<double>(bins)), bins_(bins), bytes_(links) {}

  bool shows(const Interval& moving) const { return moving.end > shown_.start && moving.start < shown_.end; }
  void add(std::size_t link, const Interval& moving, Bytes bytes) {
    if (bytes == Bytes(0) || moving.end <= moving.start || !shows(moving)) return;
    std::vector<Bytes>& its = bytes_[link];
    its.resize(bins_);
    for (std::size_t bin = bin_of(std::max(moving.start, shown_.start)); bin < bins_; ++bin) {
      const Seconds from = std::max(moving.start, edge(bin));
      const Seconds to = std::min(moving.end, edge(bin + 1));
      if (to > from) its[bin] += (to - from) / (moving.end - moving.start) * bytes;
      if (moving.end <= edge(bin + 1)) return;
    }
  }
  /// Of a link: empty, where nothing crosses it.
  const std::vector<Bytes>& of(std::size_t link) const { return bytes_[link]; }
  Seconds length() const { return length_; }

 private:
  Seconds edge(std::size_t bin) const { return shown_.start + static_cast<double>(bin) * length_; }
  std::size_t bin_of(Seconds time) const {
    const auto bin = static_cast<std::size_t>((time - shown_.start) / length_);
    return bin > 0 && edge(bin) > time ? bin - 1 : bin;
  }

  Interval shown_;
  Seconds length_;
  std::size_t bins_;
  std::vector<std::vector<Bytes>> bytes_;  ///< by link and bin
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
  std::map<std::size_t, std::size_t> places;
  for (std::size_t i = 0; i < links.size(); ++i) places[links[i].link] = i;
  visit_collectives(timeline, setup.planned(), [&](const MovingCollective& collective) {
    const std::vector<double>& shares = collective.planned.loads();
    for (std::size_t i = 0; i < links.size(); ++i) {
      if (links[i].link < shares.size()) rates[i].add(collective.moving, shares[links[i].link] * collective.bytes());
    }
  });
  CrossedLinks crossed(timeline, setup);
  for (const MessageSpan& message : timeline.messages) {
    for (const auto& [link, share] : crossed(message)) {
      if (const auto place = places.find(link); place != places.end()) rates[place->second].add(message.moving, share * message.bytes);
    }
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

LinkTable use_of_all_links(const JobTimeline& timeline, Setup& setup, const Interval& shown) {
  constexpr std::size_t most_numbers = 100'000;
  constexpr std::size_t fewest_bins = 20;
  constexpr std::size_t most_bins = 2'000;
  Network& network = setup.network();
  std::set<std::pair<int, int>> known;  // streams and numbers of collectives whose messages were kept
  for (const CollectiveMessage& message : timeline.collective_messages) {
    known.emplace(message.stream, message.number);
    (void)network.path(message.from, message.to);
  }
  const std::size_t links = network.count_links();
  const std::size_t bins = std::clamp(most_numbers / std::max<std::size_t>(1, links), fewest_bins, most_bins);
  BytesOverTime bytes(shown, links, bins);
  for (const CollectiveMessage& message : timeline.collective_messages) {
    for (const std::size_t link : network.path(message.from, message.to).links) {
      RateChange since = {message.start, 0.0};
      for (std::int32_t change = 0; change <= message.changes; ++change) {
        const RateChange until =
            change < message.changes ? timeline.rate_changes[message.first_change + at(change)] : RateChange{message.moved, 1.0};
        bytes.add(link, {since.at, until.at}, (until.moved - since.moved) * message.bytes);
        since = until;
      }
    }
  }
  visit_collectives(timeline, setup.planned(), [&](const MovingCollective& collective) {
    if (!bytes.shows(collective.moving) || known.contains({collective.span.stream, collective.span.number})) return;
    const std::vector<double>& shares = collective.planned.loads();
    for (std::size_t link = 0; link < std::min(links, shares.size()); ++link)
      bytes.add(link, collective.moving, shares[link] * collective.bytes());
  });
  CrossedLinks crossed(timeline, setup);
  for (const MessageSpan& message : timeline.messages) {
    if (!bytes.shows(message.moving)) continue;
    for (const auto& [link, share] : crossed(message)) {
      if (link < links) bytes.add(link, message.moving, share * message.bytes);
    }
  }
  LinkTable table = {.shown = shown, .bins = bins, .links = {}};
  for (std::size_t link = 0; link < links; ++link) {
    if (bytes.of(link).empty()) continue;
    const NetworkLink its = network.link(link);
    LinkTable::Link& row = table.links.emplace_back(LinkTable::Link{its.name, its.cable, its.bandwidth, {}});
    for (const Bytes& crossing : bytes.of(link)) row.utilisation.push_back(crossing / (its.bandwidth * bytes.length()));
  }
  return table;
}

std::string describe_missing_messages(const Job& job, const JobTimeline& timeline, const Setup& setup) {
  if (job.streams.empty()) return "";
  const Scenario& scenario = setup.scenario();
  const bool may_be_flows = !scenario.cluster.is_fitted() && !scenario.all_reduce.in_network;
  const auto none = [may_be_flows](std::string_view why) {
    return fmt::format("No messages of collectives: {}{}.", why, may_be_flows ? R"(; "fidelity": "flow" simulates each message)" : "");
  };
  if (std::holds_alternative<AlphaBeta>(job.model)) return none("in fidelity alpha-beta a collective is one event");
  if (job.lockstep) return none("one worker is simulated, which stands for all");
  const auto is_partial = [](const StreamSetup& row) { return row.rules.is_partial(); };
  if (std::any_of(job.streams.begin(), job.streams.end(), is_partial))
    return "No messages of collectives: one in which not all ranks take part is one event.";
  const bool draws = job.draws_latencies && setup.network().latencies_vary();
  const auto is_by_message = [&](const StreamSetup& row) {
    return moves_by_message(row, std::holds_alternative<PerFlow>(job.model), draws);
  };
  if (!std::all_of(job.streams.begin(), job.streams.end(), is_by_message))
    return none("the times of a collective's messages are computed all at once");
  if (timeline.messages_not_kept == 0.0) return "";
  std::set<std::pair<int, int>> kept;
  for (const CollectiveMessage& message : timeline.collective_messages) kept.emplace(message.stream, message.number);
  return fmt::format(
      "Messages of the first {} collectives only: with the {:.0f} of the next one they would be more than the {:.0f} of all "
      "workers, or {:.0f} of those that are shown, that a timeline keeps; choose fewer with --iterations and --ranks.",
      kept.size(), timeline.messages_not_kept, MessageLog::most, MessageLog::most_shown);
}

}  // namespace syncopate
