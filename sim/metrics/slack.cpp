#include "metrics/slack.hpp"

#include <algorithm>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/dag_shortest_paths.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "base/indexed.hpp"

namespace syncopate {

namespace {

/// The latest times of events. An arc goes back in time, from an event to one that it follows.
class LatestTimes {
 public:
  using Vertex = std::uint32_t;

  Vertex add() { return count_++; }
  /// Something happens by `time`.
  void bound(Vertex vertex, Seconds time) { add_arc(end, vertex, time); }
  /// `later` happens at least so long after `earlier`.
  void follows(Vertex later, Vertex earlier, Seconds lag) { add_arc(later, earlier, -1.0 * lag); }

  /// By vertex; infinite if no bound event follows.
  std::vector<double> solve() const {
    const Graph graph(boost::edges_are_unsorted_multi_pass, arcs_.begin(), arcs_.end(), lengths_.begin(), count_);
    std::vector<double> times(count_);
    boost::dag_shortest_paths(graph, end,
                              boost::weight_map(boost::get(&Arc::length, graph))
                                  .distance_map(boost::make_iterator_property_map(times.begin(), boost::get(boost::vertex_index, graph)))
                                  .distance_inf(unbound)
                                  .distance_zero(0.0));
    return times;
  }

 private:
  struct Arc {
    double length = 0.0;
  };
  using Graph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, Arc, boost::no_property, Vertex, std::uint32_t>;
  static constexpr Vertex end = 0;
  static constexpr double unbound = std::numeric_limits<double>::infinity();

  void add_arc(Vertex from, Vertex to, Seconds length) {
    arcs_.emplace_back(from, to);
    lengths_.push_back({length.value});
  }

  Vertex count_ = 1;
  std::vector<std::pair<Vertex, Vertex>> arcs_;
  std::vector<Arc> lengths_;
};

using Vertex = LatestTimes::Vertex;

/// A run's collectives, by the start of each.
class Collectives {
 public:
  Collectives(const JobTimeline& timeline, LatestTimes& latest) : spans_(timeline.collectives), starts_(spans_.size()) {
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      starts_[i] = latest.add();
      places_[{spans_[i].stream, spans_[i].number}] = i;
    }
    for (std::size_t stream = 0; stream < timeline.streams.size(); ++stream) take_turns(static_cast<int>(stream), timeline, latest);
  }

  const CollectiveSpan* find(const Tie& tie) const {
    const auto found = places_.find({tie.stream, tie.number});
    return found == places_.end() ? nullptr : &spans_[found->second];
  }
  Vertex start(const CollectiveSpan& span) const { return starts_[static_cast<std::size_t>(&span - spans_.data())]; }

 private:
  /// Each keeps its channel: the one that had been free for longest.
  void take_turns(int stream, const JobTimeline& timeline, LatestTimes& latest) const {
    const auto channels = at(timeline.in_flight[at(stream)]);
    std::vector<const CollectiveSpan*> last;  // by channel that has been used
    for (const CollectiveSpan& span : spans_) {
      if (span.stream != stream) continue;
      if (last.size() < channels) {
        last.push_back(&span);
        continue;
      }
      const CollectiveSpan*& before =
          *std::min_element(last.begin(), last.end(), [](const auto* a, const auto* b) { return a->end < b->end; });
      if (before->end <= span.start * (1.0 + rounding)) latest.follows(start(span), start(*before), before->end - before->start);
      before = &span;
    }
  }

  const std::vector<CollectiveSpan>& spans_;
  std::vector<Vertex> starts_;
  std::map<std::pair<int, int>, std::size_t> places_;  ///< by stream and number
};

/// The ties of a worker as vertices: when it goes on after each.
std::vector<Vertex> add_worker(const std::vector<Tie>& ties, Seconds last_end, const Collectives& collectives, LatestTimes& latest) {
  std::vector<Vertex> vertices;
  Seconds before(0);
  for (const Tie& tie : ties) {
    if (tie.after > last_end) break;
    const Vertex vertex = latest.add();
    if (!vertices.empty()) latest.follows(vertex, vertices.back(), tie.before - before);
    vertices.push_back(vertex);
    before = tie.after;
    const CollectiveSpan* const span = collectives.find(tie);
    if (span == nullptr) continue;
    const Vertex start = collectives.start(*span);
    if (!tie.posts) {
      const Seconds ended = tie.ended > Seconds(0) ? tie.ended : std::min(span->end, tie.before);
      if (ended >= span->start) latest.follows(vertex, start, ended - span->start);
    } else {
      latest.follows(start, vertex, tie.delay);
    }
  }
  const Vertex end = latest.add();
  latest.bound(end, last_end);
  if (!vertices.empty()) latest.follows(end, vertices.back(), last_end - before);
  vertices.push_back(end);
  return vertices;
}

}  // namespace

Slack::Slack(const JobTimeline& timeline) {
  if (timeline.ties.empty()) return;
  LatestTimes latest;
  const Collectives collectives(timeline, latest);
  std::vector<std::vector<Vertex>> workers;
  const auto last_end = [&](std::size_t worker) {
    const std::vector<Step>& steps = timeline.steps[worker];
    return steps.empty() ? Seconds(0) : steps.back().end;
  };
  for (std::size_t worker = 0; worker < timeline.ties.size(); ++worker) {
    workers.push_back(add_worker(timeline.ties[worker], last_end(worker), collectives, latest));
  }
  const std::vector<double> times = latest.solve();
  // Times are sums: what is 0 may come out as a little less.
  const auto after = [&](Vertex vertex, Seconds time) { return std::max(Seconds(0), Seconds(times[vertex]) - time); };
  for (const CollectiveSpan& span : timeline.collectives) collectives_.push_back(after(collectives.start(span), span.start));
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    std::vector<Stretch>& stretches = workers_.emplace_back();
    const std::vector<Tie>& ties = timeline.ties[worker];
    for (std::size_t i = 0; i + 1 < workers[worker].size(); ++i) {
      stretches.push_back({ties[i].before, after(workers[worker][i], ties[i].before)});
    }
    stretches.push_back({last_end(worker), Seconds(0)});
  }
}

std::optional<Seconds> Slack::of_collective(std::size_t index) const {
  if (collectives_.empty() || std::isinf(collectives_[index].value)) return std::nullopt;
  return collectives_[index];
}

std::optional<Seconds> Slack::of_worker(int worker, Seconds end) const {
  if (workers_.empty()) return std::nullopt;
  const std::vector<Stretch>& stretches = workers_[at(worker)];
  const auto next = std::partition_point(stretches.begin(), stretches.end(),
                                         [&](const Stretch& stretch) { return stretch.end < end * (1.0 - rounding); });
  return next == stretches.end() ? std::nullopt : std::optional(next->slack);
}

}  // namespace syncopate
