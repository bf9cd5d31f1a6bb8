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
    if (bytes == Bytes(0) || moving.end <= moving.start || changes_too_often()) return;
    const Rate rate(bytes.value / (moving.end - moving.start).value);
    edges_.push_back({moving.start, rate, 1});
    edges_.push_back({moving.end, Rate(-rate.value), -1});
  }

  bool changes_too_often() const { return edges_.size() >= most_edges; }

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
      changes.push_back({at, std::max(0.0, rate) / bandwidth.value});
    }
    return changes;
  }

 private:
  static constexpr std::size_t most_edges = 40'000;
  struct Edge {
    Seconds at;
    Rate change;
    int more;  ///< messages
  };
  std::vector<Edge> edges_;
};

/// The same where a link carries no more than it can: the rest moves later.
std::vector<LinkUse::Change> limited(const std::vector<LinkUse::Change>& changes) {
  constexpr double full = 1.0 + 1e-9;
  std::vector<LinkUse::Change> found;
  Seconds behind;  // how long the link would take for what it has not moved yet
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto& [at, wanted] = changes[i];
    const bool is_full = behind > Seconds(0) || wanted > full;
    found.push_back({at, is_full ? 1.0 : wanted});
    if (!is_full) continue;
    const bool is_last = i + 1 == changes.size();
    if (!is_last) {
      const Seconds left = behind + (wanted - 1.0) * (changes[i + 1].at - at);
      if (left > Seconds(0) || wanted >= 1.0) {
        behind = left;
        continue;
      }
    }
    const Seconds caught_up = at + behind / (1.0 - wanted);
    if (is_last || caught_up < changes[i + 1].at) found.push_back({caught_up, wanted});
    behind = Seconds(0);
  }
  return found;
}

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
  /// A link carries no more than that: the rest moves later.
  void limit(std::size_t link, Rate bandwidth) {
    Bytes behind;
    for (Bytes& crossing : bytes_[link]) {
      const Bytes wanted = crossing + behind;
      crossing = std::min(wanted, bandwidth * length_);
      behind = wanted - crossing;
    }
  }
  /// What crosses a link is known better: as it changes.
  void replace(std::size_t link, const std::vector<LinkUse::Change>& changes, Rate bandwidth) {
    bytes_[link].assign(bins_, Bytes(0));
    for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
      const Interval time = {changes[i].at, changes[i + 1].at};
      add(link, time, changes[i].utilisation * bandwidth * (time.end - time.start));
    }
  }
  /// Of a link: empty, where nothing crosses it.
  const std::vector<Bytes>& of(std::size_t link) const { return bytes_[link]; }
  Seconds length() const { return length_; }
  Seconds edge(std::size_t bin) const { return shown_.start + static_cast<double>(bin) * length_; }

 private:
  std::size_t bin_of(Seconds time) const {
    const auto bin = static_cast<std::size_t>((time - shown_.start) / length_);
    return bin > 0 && edge(bin) > time ? bin - 1 : bin;
  }

  Interval shown_;
  Seconds length_;
  std::size_t bins_;
  std::vector<std::vector<Bytes>> bytes_;  ///< by link and bin
};

/// Calls `visitor(link, moving, bytes)` for all that crosses links in a time.
template <class Visitor>
void visit_crossings(const JobInRun& job, const Interval& shown, const Visitor& visitor) {
  const JobTimeline& timeline = job.timeline;
  Network& network = job.setup.network();
  const auto shows = [&](const Interval& moving) { return moving.end > shown.start && moving.start < shown.end; };
  std::set<std::pair<int, int>> known;  // streams and numbers of collectives whose messages were kept
  for (const CollectiveMessage& message : timeline.collective_messages) {
    known.emplace(message.stream, message.number);
    if (!shows({message.start, message.moved})) continue;
    const std::vector<std::size_t>& links = network.path(message.from, message.to).links;
    RateChange since = {message.start, 0.0};
    for (std::int32_t change = 0; change <= message.changes; ++change) {
      const RateChange until =
          change < message.changes ? timeline.rate_changes[message.first_change + at(change)] : RateChange{message.moved, 1.0};
      for (const std::size_t link : links) visitor(link, Interval{since.at, until.at}, (until.moved - since.moved) * message.bytes);
      since = until;
    }
  }
  visit_collectives(timeline, job.setup.planned(), [&](const MovingCollective& collective) {
    if (!shows(collective.moving) || known.contains({collective.span.stream, collective.span.number})) return;
    const std::vector<double>& shares = collective.planned.loads();
    for (std::size_t link = 0; link < shares.size(); ++link) {
      if (shares[link] > 0.0) visitor(link, collective.moving, shares[link] * collective.bytes());
    }
  });
  CrossedLinks crossed(timeline, job.setup);
  for (const MessageSpan& message : timeline.messages) {
    if (!shows(message.moving)) continue;
    for (const auto& [link, share] : crossed(message)) visitor(link, message.moving, share * message.bytes);
  }
}

bool are_alike(const LinkUse& one, const LinkUse& other) {
  return std::equal(one.changes.begin(), one.changes.end(), other.changes.begin(), other.changes.end(),
                    [](const LinkUse::Change& a, const LinkUse::Change& b) {
                      return a.at == b.at && std::abs(a.utilisation - b.utilisation) <= 1e-9 * std::max(a.utilisation, b.utilisation);
                    });
}

}  // namespace

LinksInUse links_in_use(const std::vector<LinkLoad>& busiest, const std::vector<JobInRun>& jobs, const Interval& shown, bool is_limited) {
  constexpr std::size_t most_numbers = 100'000;
  constexpr std::size_t fewest_bins = 20;
  constexpr std::size_t most_bins = 2'000;
  for (const JobInRun& job : jobs) {  // so that all links are known
    (void)bytes_over_links(job.timeline, job.setup);
    visit_crossings(job, shown, [](std::size_t, const Interval&, Bytes) {});
  }
  const Network& network = jobs.front().setup.network();
  const std::size_t links = network.count_links();
  const std::size_t bins = std::clamp(most_numbers / std::max<std::size_t>(1, links), fewest_bins, most_bins);
  BytesOverTime bytes(shown, links, bins);
  std::vector<RateOverTime> rates(busiest.size());
  std::vector<RateOverTime*> rate_of(links);
  for (std::size_t i = 0; i < busiest.size(); ++i) rate_of[busiest[i].link] = &rates[i];
  for (const JobInRun& job : jobs) {
    visit_crossings(job, shown, [&](std::size_t link, const Interval& moving, Bytes crossing) {
      bytes.add(link, moving, crossing);
      if (rate_of[link] != nullptr) rate_of[link]->add(moving, crossing);
    });
  }
  const auto has_limit = [&](std::size_t link) { return is_limited && !network.changes(link); };
  std::vector<std::vector<LinkUse::Change>> changes(busiest.size());
  std::vector<const std::vector<LinkUse::Change>*> changes_of(links);
  for (std::size_t i = 0; i < busiest.size(); ++i) {
    if (rates[i].changes_too_often()) continue;
    changes[i] = rates[i].relative_to(busiest[i].bandwidth);
    if (has_limit(busiest[i].link)) changes[i] = limited(changes[i]);
    changes_of[busiest[i].link] = &changes[i];
  }
  LinksInUse used = {{}, {.shown = shown, .bins = bins, .links = {}}};
  for (std::size_t link = 0; link < links; ++link) {
    if (bytes.of(link).empty()) continue;
    const NetworkLink its = network.link(link);
    if (changes_of[link] != nullptr) {
      bytes.replace(link, *changes_of[link], its.bandwidth);
    } else if (has_limit(link)) {
      bytes.limit(link, its.bandwidth);
    }
    LinkTable::Link& row = used.table.links.emplace_back(LinkTable::Link{its.name, its.cable, its.bandwidth, {}});
    for (const Bytes& crossing : bytes.of(link)) row.utilisation.push_back(crossing / (its.bandwidth * bytes.length()));
  }
  for (std::size_t i = 0; i < busiest.size(); ++i) {
    const LinkLoad& link = busiest[i];
    LinkUse use = {link.name, link.bandwidth, std::move(changes[i])};
    if (rates[i].changes_too_often()) {
      const std::vector<Bytes>& its = bytes.of(link.link);
      for (std::size_t bin = 0; bin < its.size(); ++bin)
        use.changes.push_back({bytes.edge(bin), its[bin] / (link.bandwidth * bytes.length())});
      use.changes.push_back({shown.end, 0.0});
    }
    const auto same = std::find_if(used.busiest.begin(), used.busiest.end(), [&](const LinkUse& one) { return are_alike(one, use); });
    if (same == used.busiest.end()) {
      used.busiest.push_back(std::move(use));
    } else {
      same->others_alike = true;
    }
  }
  return used;
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
