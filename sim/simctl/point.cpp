#include "simctl/point.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "base/errors.hpp"
#include "cluster/costs.hpp"
#include "engine/simulate.hpp"
#include "metrics/metrics.hpp"
#include "output/timeline_json.hpp"
#include "schedule/servers.hpp"

namespace syncopate {

namespace {

struct Head {
  Metrics metrics;
  int workers_simulated = 0;
  std::size_t details_size = 0;
};
static_assert(std::is_trivially_copyable_v<Head>);

bool moves_in_lockstep(const Scenario& scenario) {
  const Schedule& schedule = scenario.schedule;
  const bool equal_clients = !schedule.servers || !schedule.servers->colocated || schedule.servers->servers == scenario.cluster.nodes;
  return schedule.waits_for_all && equal_clients && scenario.speed.uniform();
}

Bytes value_size(const Trace& trace) { return Bytes(trace.dtype == "fp16" || trace.dtype == "bf16" ? 2 : 4); }

/// Pauses that the measured window does not see.
Json pauses_outside(const std::vector<Pause>& pauses, const Window& window) {
  Json outside = Json::array();
  for (const Pause& pause : pauses) {
    if (pause.end > window.open && pause.start < window.close) continue;
    outside.push_back({{"rank", pause.worker},
                       {"at_s", pause.start.value},
                       {"window_open_s", window.open.value},
                       {"window_close_s", window.close.value}});
  }
  return outside;
}

Json details_of(const Scenario& scenario, const CollectiveCosts& costs, const JobTimeline& timeline) {
  Json details = Json::object();
  constexpr double noticeable = 0.01;
  if (const double growth = backlog_growth(timeline); scenario.schedule.waits_later && growth > noticeable)
    details["backlog_growth"] = growth;
  const Json outside = pauses_outside(scenario.speed.pauses, timeline.window);
  if (!outside.empty()) details["pauses_outside_window"] = outside;
  const std::vector<int> local_steps = count_local_steps(timeline);
  if (const auto order = costs.region_order(); !order.empty()) details["region_order"] = order;
  const double mixes = std::accumulate(local_steps.begin(), local_steps.end(), 0.0);
  for (std::size_t i = 0; i < local_steps.size(); ++i) {
    if (local_steps[i] > 0) details["local_steps_per_all_reduce"][std::to_string(i + 1)] = local_steps[i] / mixes;
  }
  return details;
}

}  // namespace

std::string PointResult::pack() const {
  const std::string text = details.dump();
  const Head head = {metrics, workers_simulated, text.size()};
  std::string bytes(sizeof head, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes + text + timeline;
}

PointResult PointResult::unpack(const std::string& bytes) {
  Head head;
  if (bytes.size() >= sizeof head) std::memcpy(&head, bytes.data(), sizeof head);
  if (bytes.size() < sizeof head + head.details_size) throw SimulationError("its process sent an incomplete result");
  const Json details = Json::parse(bytes.substr(sizeof head, head.details_size));
  return {head.metrics, head.workers_simulated, details, bytes.substr(sizeof head + head.details_size)};
}

PointResult simulate_point(const Point& point, const PointOptions& options) {
  const Scenario& scenario = point.scenario;
  const Cluster& cluster = scenario.cluster;
  const Schedule& schedule = scenario.schedule;
  Job job;
  job.profile = step_profile(*scenario.trace, scenario.granularity);
  if (schedule.update) job.profile.update = *schedule.update;
  job.speed = scenario.speed;
  job.gpus_per_rank = schedule.ranks == RankKind::node ? cluster.gpus_per_node : 1;
  job.ranks = cluster.workers() / job.gpus_per_rank;

  const CollectiveCosts costs(cluster, *scenario.all_reduce, schedule.ranks, job.profile.bytes());
  job.collective = costs;
  job.latency_cv = cluster.latency_cv;
  job.stream = schedule.stream;
  job.within_node = costs.within_node();
  job.message = {cluster.link.latency, inverse(cluster.link.bandwidth)};
  CostLine push_pull;
  if (cluster.workers() > 1) {
    if (schedule.servers) {
      job.servers = place_servers(*schedule.servers, cluster);
      push_pull = push_pull_cost(*job.servers, job.ranks);
    }
    job.program = schedule.make({job.profile, costs.all_reduce_line(), push_pull, job.ranks, value_size(*scenario.trace)});
  } else {
    job.program = single_worker(schedule.steps_per_round > 0);
  }

  job.warmup = schedule.steps_before_warmup + scenario.warmup;
  job.measured = scenario.measured;
  job.steps_per_round = schedule.steps_per_round;
  job.lockstep = options.shortcuts && moves_in_lockstep(scenario);
  job.run_ahead = options.shortcuts;
  job.shown_workers = options.shown_workers;

  const Timeline timeline = simulate(cluster, {job});
  PointResult result;
  result.metrics = measure(timeline.front(), scenario.trace->batch);
  result.workers_simulated = static_cast<int>(timeline.front().steps.size());
  result.details = details_of(scenario, costs, timeline.front());
  if (options.shown_workers > 0) result.timeline = timeline_json(timeline.front(), job.profile, point, options.shown_workers);
  return result;
}

Row make_row(const Point& point, const PointResult& result) {
  const Scenario& scenario = point.scenario;
  Row row;
  row.point = point.index;
  row.sweep = point.sweep;
  row.model = scenario.trace->model;
  row.cluster = scenario.cluster.name;
  row.schedule = scenario.schedule.name;
  row.all_reduce = scenario.all_reduce_name;
  row.all_reduces = scenario.schedule.all_reduces;
  row.fidelity = "alpha-beta";
  row.nodes = scenario.cluster.nodes;
  row.workers = scenario.cluster.workers();
  row.batch = scenario.trace->batch;
  row.metrics = result.metrics;
  row.measured_iterations = scenario.measured;
  row.workers_simulated = result.workers_simulated;
  row.details = result.details;
  return row;
}

}  // namespace syncopate
