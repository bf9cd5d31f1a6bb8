#include "simctl/point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "base/errors.hpp"
#include "cluster/costs.hpp"
#include "engine/simulate.hpp"
#include "metrics/links.hpp"
#include "metrics/metrics.hpp"
#include "output/timeline_json.hpp"
#include "schedule/servers.hpp"
#include "simctl/fidelity.hpp"

namespace syncopate {

namespace {

struct Head {
  Metrics metrics;
  Fidelity fidelity = Fidelity::alpha_beta;
  int workers_simulated = 0;
  std::size_t details_size = 0;
};
static_assert(std::is_trivially_copyable_v<Head>);

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
  const Head head = {metrics, fidelity, workers_simulated, text.size()};
  std::string bytes(sizeof head, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes + text + timeline;
}

PointResult PointResult::unpack(const std::string& bytes) {
  Head head;
  if (bytes.size() >= sizeof head) std::memcpy(&head, bytes.data(), sizeof head);
  if (bytes.size() < sizeof head + head.details_size) throw SimulationError("its process sent an incomplete result");
  const Json details = Json::parse(bytes.substr(sizeof head, head.details_size));
  return {head.metrics, head.fidelity, head.workers_simulated, details, bytes.substr(sizeof head + head.details_size)};
}

namespace {

/// The job but for its network and what depends on that.
Job describe_job(const Scenario& scenario, const PointOptions& options) {
  const Schedule& schedule = scenario.schedule;
  const Cluster& cluster = scenario.cluster;
  Job job;
  job.profile = step_profile(*scenario.trace, scenario.granularity);
  if (schedule.update) job.profile.update = *schedule.update;
  job.speed = scenario.speed;
  job.gpus_per_rank = schedule.ranks == RankKind::node ? cluster.gpus_per_node : 1;
  job.ranks = cluster.workers() / job.gpus_per_rank;
  job.latency_cv = cluster.latency_cv;
  job.stream = schedule.stream;
  if (schedule.servers && cluster.workers() > 1) job.servers = place_servers(*schedule.servers, cluster);
  job.warmup = schedule.steps_before_warmup + scenario.warmup;
  job.measured = scenario.measured;
  job.steps_per_round = schedule.steps_per_round;
  job.run_ahead = job.shortcuts = options.shortcuts;
  job.shown_workers = options.shown_workers;
  return job;
}

/// Ranks of the parameter servers.
std::vector<int> server_ranks(const Job& job, const Network& network) {
  std::vector<int> ranks;
  const int servers = job.servers ? job.servers->servers : 0;
  ranks.reserve(static_cast<std::size_t>(servers));
  for (int server = 0; server < servers; ++server) ranks.push_back(job.servers->colocated ? server : network.server_rank(server));
  return ranks;
}

void add_links(Json& details, const JobTimeline& timeline, PlannedCollectives& planned, const Job& job) {
  constexpr std::size_t most_links = 10;
  for (const LinkLoad& link : busiest_links(timeline, planned, job.ranks, server_ranks(job, planned.network()), most_links)) {
    details["links"].push_back(
        {{"name", link.name}, {"bandwidth_Bps", link.bandwidth.value}, {"bytes", link.bytes.value}, {"utilisation", link.utilisation}});
  }
}

/// How far messages exceed what their links can carry, if they do.
std::string describe_overload(const Json& details) {
  if (!details.contains("links")) return "";
  const double most = details["links"][0]["utilisation"].get<double>();
  return most > 1.0 ? fmt::format("; the busiest link would have to carry {:.3g} times what it can", most) : "";
}

/// The cost of an all-reduce of all ranks in alpha-beta fidelity, or that of messages where not all ranks take part.
std::function<CollectiveTime(Operation, Bytes)> collective_time(const Job& job, const CollectiveCosts& costs) {
  if (job.fidelity == Fidelity::alpha_beta) return costs;
  return [planned = job.planned](Operation operation, Bytes bytes) {
    PlannedCollective& collective = (*planned)(operation, bytes);
    const Seconds latency = collective.times.from_equal_starts(Bytes(0));
    return CollectiveTime{latency, collective.times.from_equal_starts(all_data(collective.plan, bytes)) - latency};
  };
}

}  // namespace

PointResult simulate_point(const Point& point, const PointOptions& options) {
  const Scenario& scenario = point.scenario;
  const Cluster& cluster = scenario.cluster;
  const Schedule& schedule = scenario.schedule;
  Job job = describe_job(scenario, options);
  const Bytes bytes = job.profile.bytes();
  const CollectiveCosts costs(cluster, *scenario.all_reduce.algorithm, schedule.ranks, bytes);
  const int ranks_per_node = cluster.gpus_per_node / job.gpus_per_rank;
  const bool servers_have_nodes = schedule.servers && !schedule.servers->colocated;
  const Network network(cluster, ranks_per_node, servers_have_nodes ? schedule.servers->servers : 0, costs.fastest_region_order(),
                        job.ranks * bytes);
  PlannedCollectives planned(cluster, scenario.all_reduce, network, ranks_per_node);
  job.planned = &planned;
  job.collective = costs;
  job.within_node = costs.within_node();
  job.message = [&network, &cluster](int from, int to, Bytes message) {
    const Hop hop = network.knows_its_paths() || network.is_built() ? network.path(from, to).hop() : cluster.link.hop();
    return CollectiveTime{hop.latency, hop.beta * message};
  };
  ScheduleInput input = {job.profile, costs.all_reduce_line(), CostLine(), job.ranks, value_size(*scenario.trace)};
  if (job.servers) input.push_pull = push_pull_cost(*job.servers, job.ranks);
  const auto make_program = [&] { return cluster.workers() > 1 ? schedule.make(input) : single_worker(schedule.steps_per_round > 0); };
  job.program = make_program();

  const FidelityChoice choice = choose_fidelity(scenario, job, network);
  job.fidelity = choice.fidelity;
  if (job.fidelity == Fidelity::flow || (job.fidelity == Fidelity::per_message && !network.knows_its_paths())) network.build();
  if (job.fidelity != Fidelity::alpha_beta && cluster.workers() > 1) {
    job.collective = collective_time(job, costs);
    if (schedule.groups_by_cost) input.all_reduce = fitted_line(job, network);
    job.program = make_program();
  }
  job.lockstep = options.shortcuts && moves_in_lockstep(scenario, job, network);

  const Timeline timeline = simulate({job}, network);
  PointResult result;
  result.metrics = measure(timeline.front(), scenario.trace->batch);
  result.fidelity = job.fidelity;
  result.workers_simulated = static_cast<int>(timeline.front().steps.size());
  result.details = details_of(scenario, costs, timeline.front());
  if (job.fidelity != Fidelity::alpha_beta) add_links(result.details, timeline.front(), planned, job);
  if (!choice.note.empty()) result.details["fidelity_note"] = choice.note + describe_overload(result.details);
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
  row.all_reduce = scenario.all_reduce.name;
  row.all_reduces = scenario.schedule.all_reduces;
  row.fidelity = to_string(result.fidelity);
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
