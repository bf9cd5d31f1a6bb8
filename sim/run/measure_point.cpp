#include "run/measure_point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/gzip.hpp"
#include "base/text.hpp"
#include "metrics/metrics.hpp"
#include "output/timeline_json.hpp"
#include "run/link_use.hpp"
#include "run/links.hpp"
#include "run/path_shares.hpp"

namespace syncopate {

namespace {

std::vector<Interval> events_of(const Speed& speed) {
  std::vector<Interval> events;
  for (const Pause& pause : speed.pauses) events.push_back({pause.start, pause.end});
  for (const Absence& absence : speed.absences) events.push_back({absence.start, absence.end});
  for (const SlowSpell& spell : speed.spells) {
    if (!spell.is_lasting()) events.push_back({spell.start, spell.end});
  }
  return events;
}

Json details_of(const Setup& setup, const JobTimeline& timeline) {
  const Scenario& scenario = setup.scenario();
  Json details = Json::object();
  constexpr double noticeable = 0.01;
  if (const double growth = backlog_growth(timeline); scenario.schedule.pace.waits_later && growth > noticeable)
    details["backlog_growth"] = growth;
  if (Json outside = events_outside(scenario, timeline.window); !outside.empty()) details["events_outside_window"] = std::move(outside);
  if (const auto& servers = scenario.schedule.traffic.servers; servers && scenario.cluster.workers() > 1)
    details["servers"] = servers->servers;
  const std::vector<int> local_steps = count_local_steps(timeline);
  if (const auto order = setup.region_order(); !order.empty()) details["region_order"] = order;
  const double mixes = std::accumulate(local_steps.begin(), local_steps.end(), 0.0);
  for (std::size_t i = 0; i < local_steps.size(); ++i) {
    if (local_steps[i] > 0) details["local_steps_per_all_reduce"][std::to_string(i + 1)] = local_steps[i] / mixes;
  }
  return details;
}

/// How much of what a job waits for are latencies of its all-reduces, if that is most of it and another algorithm is faster for them. On a
/// star, by closed forms, at the mean number of bytes.
Json latency_bound(const Setup& setup, const Metrics& metrics) {
  const Scenario& scenario = setup.scenario();
  const Cluster& cluster = scenario.cluster;
  const auto& streams = scenario.schedule.traffic.streams;
  const bool all_reduces = streams.size() == 1 && streams.front().operations == std::vector{Operation::all_reduce};
  const bool of_all_gpus = scenario.schedule.traffic.ranks == RankKind::gpu || cluster.gpus_per_node == 1;
  if (!all_reduces || !of_all_gpus || setup.collectives().size() != 1 || !cluster.is_star() || cluster.is_fitted() || cluster.nodes == 1)
    return nullptr;
  if (!scenario.all_reduce.candidates.empty() || metrics.communications_per_iteration == 0.0) return nullptr;
  const double count = metrics.communications_per_iteration;
  const Bytes bytes = metrics.bytes_per_worker_per_iteration / count;
  const CollectiveTime own = setup.closed_form(scenario.all_reduce, bytes);
  const CollectiveTime fastest = setup.closed_form(automatic_all_reduce(), bytes);
  constexpr double half = 0.5;
  constexpr double noticeably = 0.9;
  const bool is_bound = own.latency > half * own.total() && count * own.latency > half * metrics.exposed_communication;
  if (!is_bound || metrics.exposed_communication == Seconds(0) || fastest.total() > noticeably * own.total()) return nullptr;
  return {{"latency_share", own.latency / own.total()}, {"own_s", own.total().value}, {"auto_s", fastest.total().value}};
}

void add_load(PointResult& result, const NetworkLoad& load, const JobTimeline& timeline) {
  const double steps = (timeline.window.close - timeline.window.open) / result.metrics.iteration;
  result.network_bytes = load.between_nodes / steps;
  result.busiest_link_bytes = load.most / steps;
  for (const LinkLoad& link : load.links) {
    result.details["links"].push_back({{"name", link.name},
                                       {"bandwidth_Bps", link.bandwidth.value},
                                       {"bytes", link.bytes.value},
                                       {"utilisation", link.utilisation},
                                       {"utilisation_in_use", link.utilisation_in_use}});
  }
}

/// How far messages exceed what their links can carry, if they do.
std::string describe_overload(const Json& details) {
  if (!details.contains("links")) return "";
  const double most = details["links"][0]["utilisation"].get<double>();
  return most > 1.0 ? fmt::format("; the busiest link would have to carry {} times what it can", rounded(most, 3)) : "";
}

/// What the header of a record of the dataflow says of a point.
Json about(const Point& point) {
  const Scenario& scenario = point.scenario;
  Json labels = Json::object();
  for (const auto& [pointer, value] : point.sweep) labels[pointer] = value;
  const int gpus = scenario.schedule.traffic.ranks == RankKind::node ? scenario.cluster.gpus_per_node : 1;
  return {{"point", point.index}, {"labels", labels}, {"schedule", scenario.schedule.name}, {"samples", scenario.trace->batch * gpus}};
}

/// The names of the hosts that simulated workers are on; empty where they have none, or one worker stands for all.
std::vector<std::string> hosts_of(int workers, const Setup& setup) {
  std::vector<std::string> hosts;
  const Network& network = setup.network();
  const int nodes = setup.scenario().cluster.nodes;
  for (int worker = 0; workers == setup.ranks() && worker < workers; ++worker) {
    const std::optional<std::string> name = network.name_of(worker / (setup.ranks() / nodes));
    if (!name) return {};
    hosts.push_back(*name);
  }
  return hosts;
}

}  // namespace

Json events_outside(const Scenario& scenario, const Window& window) {
  Json outside = Json::array();
  const auto misses = [&](Seconds start, Seconds end) { return end <= window.open || start >= window.close; };
  const auto add = [&](const std::string& what, Seconds first, std::size_t count) {
    outside.push_back({{"what", what},
                       {"at_s", first.value},
                       {"count", count},
                       {"window_open_s", window.open.value},
                       {"window_close_s", window.close.value}});
  };
  const auto add_event = [&](const char* what, int rank, Seconds start, Seconds end) {
    if (misses(start, end)) add(fmt::format("{} of rank {}", what, rank), start, 1);
  };
  for (const Pause& pause : scenario.speed.pauses) add_event("pause", pause.worker, pause.start, pause.end);
  for (const SlowSpell& spell : scenario.speed.spells) add_event("slow time", spell.worker, spell.start, spell.end);
  for (const Absence& absence : scenario.speed.absences) add_event("absence", absence.worker, absence.start, absence.end);
  // Each value holds until the next one, the last for ever.
  const auto add_changes = [&](const std::string& what, const auto& changes) {
    std::vector<Seconds> missed;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (misses(changes[i].at, i + 1 < changes.size() ? changes[i + 1].at : Seconds(std::numeric_limits<double>::infinity())))
        missed.push_back(changes[i].at);
    }
    if (!missed.empty()) add(what, missed.front(), missed.size());
  };
  const Cluster& cluster = scenario.cluster;
  for (const auto& [node, changes] : cluster.link_changes.of_nodes) add_changes(fmt::format("bandwidth of node {}'s link", node), changes);
  for (const auto& [name, changes] : cluster.link_changes.of_names) add_changes(fmt::format("bandwidth of {}", name), changes);
  for (const auto& [name, changes] : cluster.link_changes.latencies) add_changes(fmt::format("latency of {}", name), changes);
  if (!cluster.regions) return outside;
  const std::vector<Region>& regions = cluster.regions->list;
  for (std::size_t from = 0; from < regions.size(); ++from) {
    for (std::size_t to = 0; to < regions.size(); ++to) {
      const Link& link = cluster.regions->wan[from][to];
      if (!link.changes_with_time()) continue;
      const std::string name = fmt::format("wan {}-{}", regions[from].name, regions[to].name);
      add_changes("bandwidth of " + name, link.bandwidth_changes);
      add_changes("latency of " + name, link.latency_changes);
    }
  }
  return outside;
}

std::optional<double> half_width_of(const Scenario& whole, const Scenario& training, const JobTimeline& run, Seconds iteration) {
  const Pace& pace = training.schedule.pace;
  int iterations = training.measured;
  if (pace.steps_per_round == 0) iterations = std::max(iterations, static_cast<int>((run.window.close - run.window.open) / iteration));
  const auto half = relative_half_width(run, iterations / pace.cycle, events_of(training.speed));
  if (training.is_sample()) return half;
  constexpr double noticeable = 1e-5;
  const bool differs = half && *half > noticeable && !whole.has_events();
  return differs ? half : std::nullopt;
}

PointResult measure_point(const Point& point, Setup& setup, const Job& job, const JobTimeline& run, const RunPlan& plan,
                          const std::vector<JobInRun>& others) {
  const PointOptions& options = setup.options();
  PointResult result;
  result.metrics = measure(run, point.scenario.trace->batch);
  result.fidelity = plan.fidelity;
  result.workers_simulated = static_cast<int>(run.steps.size());
  const Scenario& scenario = point.scenario;
  result.measured_iterations = scenario.measured;
  result.iteration_half = half_width_of(scenario, scenario, run, result.metrics.iteration);
  result.details = details_of(setup, run);
  for (const GradientGroup& group : setup.grouping(plan.fidelity))
    result.details["groups"].push_back({{"bytes", std::llround(bytes_of(group, setup.profile()).value)}});
  if (Json bound = latency_bound(setup, result.metrics); !bound.is_null()) result.details["latency_bound"] = std::move(bound);
  constexpr std::size_t most_links = 10;
  NetworkLoad load;
  if (plan.fidelity != Fidelity::alpha_beta) {
    load = network_load(run, setup, most_links);
    add_load(result, load, run);
  }
  result.require_finite();
  if (plan.fidelity == Fidelity::simgrid) {
    const SimGridModel& model = scenario.simgrid;
    result.details["simgrid"] = {{"network_model", model.network_model}, {"config", model.config}, {"fair", model.fair}};
  }
  if (!plan.note.empty()) result.details["fidelity_note"] = plan.note + describe_overload(result.details);
  if (options.explain) result.details["path"] = to_json(path_shares(run, setup, result.metrics.iteration));
  if (options.timeline) {
    std::vector<JobInRun> jobs = {{run, setup, !job.sends_more || job.keeps_messages}};
    for (const JobInRun& other : others) jobs.push_back(other);
    const bool knows_all = std::all_of(jobs.begin(), jobs.end(), [](const JobInRun& one) { return one.keeps_all; });
    NetworkView network = {.hosts = hosts_of(static_cast<int>(run.steps.size()), setup),
                           .missing_messages = describe_missing_messages(job, run, setup)};
    const Interval shown = shown_time(run, *options.timeline);
    if (knows_all && plan.fidelity != Fidelity::alpha_beta && shown.end > shown.start) {
      LinksInUse used = links_in_use(load.links, jobs, shown, shares_links(plan.fidelity));
      network.busiest = std::move(used.busiest);
      network.links = std::move(used.table);
    }
    for (std::size_t link = 0; !run.collective_messages.empty() && link < setup.network().count_links(); ++link)
      network.link_names.push_back(setup.network().link(link).name);
    result.timeline = timeline_json(run, job.profile, point, *options.timeline, path_slices(run, setup), network);
    if (options.timeline->compressed) result.timeline = gzip(result.timeline);
  }
  if (job.dataflow) result.dataflow = job.dataflow->take(about(point));
  return result;
}

}  // namespace syncopate
