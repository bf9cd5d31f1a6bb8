#include "run/cost.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "collective/algorithms.hpp"
#include "collective/plan.hpp"
#include "metrics/metrics.hpp"

namespace syncopate {

namespace {

double ranks_of(const Scenario& scenario) {
  const Cluster& cluster = scenario.cluster;
  return scenario.schedule.traffic.ranks == RankKind::node ? cluster.nodes : cluster.workers();
}

double variation_of(const Jitter& jitter) {
  if (jitter.factors.empty()) return jitter.cv;
  const std::vector<double>& factors = jitter.factors;
  const double squares = std::inner_product(factors.begin(), factors.end(), factors.begin(), 0.0) / static_cast<double>(factors.size());
  return std::sqrt(std::max(0.0, squares - 1.0));
}

/// The widest of what is drawn, as a coefficient of variation.
double variation_of(const Scenario& scenario) {
  const Cluster& cluster = scenario.cluster;
  return std::max({variation_of(scenario.speed.jitter), variation_of(cluster.link.jitter), cluster.latency_cv});
}

/// Measures at once what `until` measures in the end: so many iterations that a mean of independent ones is known so well.
Scenario with_most_measured(const Scenario& scenario) {
  constexpr double deviations = 2.0;  // in half an interval of 95%
  const double needed = std::pow(deviations * variation_of(scenario) / *scenario.until, 2);
  const double most = scenario.most_until();
  const double fewest = std::min(most, std::max<double>(scenario.measured, enough_slices * scenario.schedule.pace.cycle));
  Scenario longest = scenario;
  longest.measured = static_cast<int>(std::ceil(std::clamp(needed, fewest, most)));
  return longest;
}

double warmup_of(const Scenario& scenario) { return scenario.schedule.pace.steps_before_warmup + scenario.warmup; }

/// Of a worker that others do not hold up.
double steps_of(const Scenario& scenario) {
  return (warmup_of(scenario) + scenario.measured) * std::max(1, scenario.schedule.pace.steps_per_round);
}

bool moves_flows(const Scenario& scenario) {
  const Cluster& cluster = scenario.cluster;
  return scenario.fidelity ? scenario.fidelity == Fidelity::flow : !cluster.is_star() && !cluster.fit;
}

double posts_of(const Scenario& scenario, const StepProfile& profile) {
  return scenario.schedule.posts ? scenario.schedule.posts(profile) : 1.0;
}

/// What `auto` replaces with alpha-beta fidelity when it takes long.
bool takes_long_by_message(const Scenario& scenario, double posts) {
  const double ranks = ranks_of(scenario);
  const double messages = ranks * scenario.all_reduce.algorithm->all_reduce.rounds(static_cast<int>(ranks));
  return posts * steps_of(scenario) * messages * cost_of_message > most_seconds_by_message_unasked;
}

/// As `auto` is likely to choose it.
Fidelity fidelity_of(const Scenario& scenario, double posts) {
  const Cluster& cluster = scenario.cluster;
  if (scenario.fidelity) return *scenario.fidelity;
  if (moves_flows(scenario)) return Fidelity::flow;
  if (!scenario.schedule.traffic.has_collectives()) return Fidelity::per_message;
  return cluster.fit || (cluster.link.jitter.varies() && takes_long_by_message(scenario, posts)) ? Fidelity::alpha_beta
                                                                                                 : Fidelity::per_message;
}

/// An all-reduce treats ranks alike, message by message, as it does the same on few nodes: only whether their number is a power of two
/// makes a difference.
bool treats_ranks_alike(const Scenario& scenario) {
  const Cluster& cluster = scenario.cluster;
  const AllReduce& all_reduce = scenario.all_reduce;
  const int ranks_per_node = static_cast<int>(ranks_of(scenario)) / cluster.nodes;
  if (!cluster.is_star() || all_reduce.chunk > Bytes(0)) return false;
  if (all_reduce.across_gpus) return ranks_per_node == 1 || cluster.nodes == 1;
  const int few = std::has_single_bit(static_cast<unsigned>(cluster.nodes)) ? std::min(cluster.nodes, 4) : 3;
  return is_symmetric(make_plan(all_reduce, Operation::all_reduce, {.nodes = few, .ranks_per_node = ranks_per_node}, {}));
}

bool are_equal(const Scenario& scenario) { return scenario.speed.uniform() && scenario.schedule.pace.waits_for_all; }

/// One worker stands for all.
bool is_one(const Scenario& scenario, double posts, bool shortcuts) {
  if (ranks_of(scenario) == 1) return true;
  const Fidelity fidelity = fidelity_of(scenario, posts);
  if (!shortcuts || !may_move_in_lockstep(scenario, fidelity)) return false;
  return fidelity == Fidelity::alpha_beta || !scenario.schedule.traffic.has_collectives() || treats_ranks_alike(scenario);
}

/// Of the busiest links' use, in a step of so many messages of each worker: a link that all workers' messages cross changes with each of
/// them, and those that collectives cross are mostly used alike.
double changes_of_link_use(const Scenario& scenario, int simulated, double messages) {
  const Traffic& traffic = scenario.schedule.traffic;
  if (scenario.fidelity == Fidelity::alpha_beta) return 0.0;
  if ((traffic.servers || traffic.peers) && simulated > TimelineView::most_in_full) return 0.0;
  return traffic.servers ? simulated * messages : messages;
}

Rate fastest_link(const Cluster& cluster) {
  Rate fastest = cluster.has_link ? cluster.link.bandwidth : Rate(0);
  if (!cluster.regions) return fastest;
  const std::size_t regions = cluster.regions->list.size();
  for (std::size_t from = 0; from < regions; ++from) {
    for (std::size_t to = 0; to < regions; ++to) {
      const auto [out, in] = cluster.regions->bandwidths(from, to);
      if (from != to) fastest = std::max(fastest, std::min(out, in));
    }
  }
  return fastest;
}

/// The least that a worker's step takes: what it computes, or the servers' links if these hold it up.
Seconds step_of(const Scenario& scenario, const StepProfile& profile, double posts) {
  const Traffic& traffic = scenario.schedule.traffic;
  if (!traffic.servers || scenario.schedule.pace.is_lossy) return profile.compute();
  const double clients_per_server = std::max(1.0, ranks_of(scenario) / traffic.servers->servers);
  return std::max(profile.compute(), clients_per_server * (std::min(1.0, posts) * profile.bytes() / fastest_link(scenario.cluster)));
}

/// Gradient steps of workers that do not wait for the slowest: the window opens with that one, each of whose rounds ends with a step, and
/// closes with the fastest.
double steps_of_independent(const Scenario& scenario, Seconds step) {
  const Speed& speed = scenario.speed;
  const int ranks = static_cast<int>(ranks_of(scenario));
  if ((speed.slow.empty() && speed.pauses.empty()) || step == Seconds(0)) return ranks * steps_of(scenario);
  const int gpus = scenario.cluster.workers() / ranks;
  struct Its {
    Seconds step;
    std::vector<Pause> pauses;
  };
  std::vector<Its> workers;
  Seconds open;
  for (int rank = 0; rank < ranks; ++rank) {
    double slowness = 0.0;
    for (int gpu = 0; gpu < gpus; ++gpu) slowness = std::max(slowness, speed.slowness(rank * gpus + gpu));
    workers.push_back({slowness * step, speed.pauses_of(rank * gpus, gpus)});
    open = std::max(open, end_of_compute(Seconds(0), warmup_of(scenario) * workers.back().step, workers.back().pauses));
  }
  const double in_window = scenario.measured * std::max(1, scenario.schedule.pace.steps_per_round);
  Seconds close(std::numeric_limits<double>::infinity());
  for (const Its& its : workers) close = std::min(close, end_of_compute(open, in_window * its.step, its.pauses));
  double steps = 0.0;
  for (const Its& its : workers) {
    Seconds computing = close;
    for (const Pause& pause : its.pauses) computing -= std::max(Seconds(0), std::min(pause.end, close) - pause.start);
    steps += std::ceil(computing / its.step);
  }
  return steps;
}

/// What a simulation goes through.
struct Work {
  double workers = 1.0;      ///< that are simulated
  double steps = 0.0;        ///< of all of them
  double posts = 0.0;        ///< likewise
  double collectives = 0.0;  ///< that move, each for all workers
  double exchanges = 0.0;    ///< with servers or peers, likewise
};

Work work_of(const Scenario& scenario, const StepProfile& profile, bool shortcuts) {
  const Schedule& schedule = scenario.schedule;
  const double posts = posts_of(scenario, profile);
  Work work;
  work.workers = is_one(scenario, posts, shortcuts) ? 1.0 : ranks_of(scenario);
  work.steps = work.workers * steps_of(scenario);
  if (work.workers > 1.0 && !schedule.waits_for_slowest()) work.steps = steps_of_independent(scenario, step_of(scenario, profile, posts));
  if (scenario.cluster.workers() == 1 && !schedule.traffic.servers) return work;  // nobody to send anything to
  work.posts = posts * work.steps;
  (schedule.traffic.has_collectives() ? work.collectives : work.exchanges) = work.posts;
  work.collectives /= work.workers;
  return work;
}

/// Of equal workers, collectives of the same bytes take the same time, which is simulated once.
double different_collectives(const Scenario& scenario, const StepProfile& profile, const Work& work) {
  if (!are_equal(scenario) || scenario.draws()) return work.collectives;
  std::set<Bytes> sizes;
  for (const StepProfile::GradientReady& gradient : profile.gradients) sizes.insert(gradient.bytes);
  return std::min(work.collectives, static_cast<double>(sizes.size()));
}

bool overlaps_collectives(const Scenario& scenario) {
  const std::vector<StreamTraffic>& streams = scenario.schedule.traffic.streams;
  if (scenario.channels) return *scenario.channels > 1;
  return std::any_of(streams.begin(), streams.end(), [](const StreamTraffic& stream) { return stream.rules.channels > 1; });
}

/// What `auto` replaces when it takes longer.
Seconds unless_replaced(const Scenario& scenario, Seconds time, Seconds most) {
  return scenario.fidelity || time <= most ? time : Seconds(0);
}

/// Of what moves message by message.
Seconds time_of_messages(const Scenario& scenario, const StepProfile& profile, const Work& work) {
  const double ranks = ranks_of(scenario);
  if (ranks == 1 || scenario.fidelity == Fidelity::alpha_beta || scenario.cluster.fit) return Seconds(0);
  const double messages = ranks * scenario.all_reduce.algorithm->all_reduce.rounds(static_cast<int>(ranks));
  if (moves_flows(scenario)) {
    const Seconds each = std::max(cost_of_flow, ranks * cost_of_contended_flow_by_rank);
    return unless_replaced(scenario, different_collectives(scenario, profile, work) * messages * each, most_seconds_unasked);
  }
  if (work.workers > 1.0 && (overlaps_collectives(scenario) || scenario.cluster.link.jitter.varies()))
    return unless_replaced(scenario, work.collectives * messages * cost_of_message, most_seconds_by_message_unasked);
  return Seconds(0);
}

Seconds time_of(const Scenario& scenario, const StepProfile& profile, const Work& work) {
  constexpr Seconds of_start(1e-3);
  constexpr Seconds of_rank(3e-7);  // whether or not it is simulated
  constexpr Seconds of_actors(15e-3);
  constexpr Seconds of_worker(25e-6);  // its actor begins and ends
  constexpr Seconds of_step(1.2e-6);
  constexpr Seconds of_step_alone(1.5e-7);
  constexpr Seconds of_post(4e-8);
  constexpr Seconds of_collective(5e-7);
  constexpr Seconds of_exchange_with_server(1.5e-6);
  constexpr Seconds of_exchange_with_peer(5e-7);
  const bool is_alone = work.workers == 1.0;
  const bool has_servers = scenario.schedule.traffic.servers.has_value();
  const Seconds exchange = !has_servers                                         ? of_exchange_with_peer
                           : moves_flows(scenario) || serves_by_flows(scenario) ? 2.0 * ranks_of(scenario) * cost_of_server_flow_by_rank
                                                                                : of_exchange_with_server;
  const Seconds workers = is_alone ? Seconds(0) : of_actors + work.workers * of_worker + work.posts * of_post;
  return of_start + ranks_of(scenario) * of_rank + workers + work.steps * (is_alone ? of_step_alone : of_step) +
         work.collectives * of_collective + work.exchanges * exchange + time_of_messages(scenario, profile, work);
}

Bytes memory_of(const Scenario& scenario, const Work& work) {
  constexpr Bytes of_process(8e6);
  constexpr Bytes of_rank(140);
  constexpr Bytes of_actors(28e6);
  constexpr Bytes of_worker(15e3);  // two pages of a stack, and the worker
  constexpr Bytes of_step(80);
  constexpr Bytes of_post(110);  // that moves
  const Bytes workers = work.workers > 1.0 ? of_actors + work.workers * of_worker : Bytes(0);
  return of_process + ranks_of(scenario) * of_rank + workers + work.steps * of_step + (work.collectives + work.exchanges) * of_post;
}

Bytes timeline_of(const Scenario& scenario, const TimelineView& view, bool shortcuts) {
  constexpr Bytes of_slice(165);
  constexpr Bytes of_arrow(190);
  constexpr Bytes of_change(110);
  constexpr double compressed = 0.1;
  const double ranks = ranks_of(scenario);
  const int simulated = is_one(scenario, posts_of(scenario, profile_of(scenario)), shortcuts) ? 1 : static_cast<int>(ranks);
  const auto workers = static_cast<double>(view.workers(simulated, scenario.cluster.workers() / simulated).size());
  const double steps = view.iterations ? view.iterations->last - view.iterations->first + 1.0 : steps_of(scenario);
  const auto layers = static_cast<double>(scenario.trace->layers.size());
  const auto gradients = static_cast<double>(scenario.trace->gradients.size());
  const double messages = gradients * (scenario.schedule.traffic.servers ? 2.0 : 1.0);
  constexpr double phases = 6.0;
  const double changes = changes_of_link_use(scenario, simulated, messages);
  const Bytes bytes = steps * (workers * ((2.0 * layers + messages + phases) * of_slice + gradients * of_arrow) + changes * of_change);
  return view.compressed ? compressed * bytes : bytes;
}

/// Lines of a record of the dataflow: of each part in each step a gradient, what is sent of it, and the model that follows.
double record_of(const Scenario& scenario, const Work& work) {
  const Schedule& schedule = scenario.schedule;
  const bool in_parts = schedule.parts && (schedule.pace.is_lossy || (schedule.traffic.servers && schedule.traffic.servers->asynchronous));
  constexpr double lines = 3.0;
  return lines * (in_parts ? std::max(work.posts, work.steps) : work.steps);
}

/// Of a step: computing, or sending the bytes once.
Seconds least_step(const Scenario& scenario) {
  const StepProfile profile = profile_of(scenario);
  if (scenario.cluster.workers() == 1 || scenario.schedule.pace.is_lossy) return profile.compute();
  const double posts = std::min(1.0, posts_of(scenario, profile));
  return std::max(profile.compute(), posts * profile.bytes() / fastest_link(scenario.cluster));
}

/// Of jobs on one network: of all of them together, and then of each alone. Until all have been measured, whoever is faster goes on.
Cost cost_of_jobs(const Scenario& scenario, const PointOptions& options) {
  std::vector<Seconds> lengths;  // the least that each takes
  for (const SharingJob& job : scenario.jobs->list) lengths.push_back(job.start + steps_of(job.scenario) * least_step(job.scenario));
  const Seconds longest = *std::max_element(lengths.begin(), lengths.end());
  Cost all;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const Cost alone = estimate_cost(scenario.jobs->list[i].scenario, i == 0 ? options : PointOptions{.shortcuts = options.shortcuts});
    const double longer = longest / lengths[i];
    all.steps += (1.0 + longer) * alone.steps;
    all.time += (1.0 + longer) * alone.time;
    all.memory += alone.memory;
  }
  return all;
}

}  // namespace

Cost estimate_cost(const Scenario& scenario, const PointOptions& options) {
  if (scenario.jobs) return cost_of_jobs(scenario, options);
  const StepProfile profile = profile_of(scenario);
  const Work work = work_of(scenario, profile, options.may_be_one());
  Cost cost = {work.steps, time_of(scenario, profile, work), memory_of(scenario, work)};
  if (options.dataflow) {
    constexpr Bytes of_line(50);  // compressed, on its way to the process that writes it, too
    constexpr Seconds to_write(1.5e-6);
    const double lines = record_of(scenario, work);
    cost.memory += lines * of_line;
    cost.time += lines * to_write;
  }
  if (!options.timeline) return cost;
  constexpr double in_memory = 4.5;  // times the file
  constexpr SecondsPerByte of_file(3.5e-8);
  TimelineView view = *options.timeline;
  view.compressed = false;
  const Bytes file = timeline_of(scenario, view, options.may_be_one());
  cost.memory += in_memory * file;
  cost.time += of_file * file;
  return cost;
}

Cost estimate_most(const Scenario& scenario, const PointOptions& options) {
  if (!scenario.measures_until()) return estimate_cost(scenario, options);
  constexpr double repetitions = 2.0;  // with fewer iterations before, at most half as many each time
  Cost cost = estimate_cost(with_most_measured(scenario), options);
  cost.steps = repetitions * cost.steps;
  cost.time = repetitions * cost.time;
  return cost;
}

Bytes estimate_timeline(const Scenario& scenario, const TimelineView& view, bool shortcuts) {
  return timeline_of(scenario.measures_until() ? with_most_measured(scenario) : scenario, view, shortcuts);
}

TimeLeft::TimeLeft(std::vector<Seconds> costs, int parallel)
    : costs_(std::move(costs)), all_(std::accumulate(costs_.begin(), costs_.end(), Seconds(0))), parallel_(parallel) {}

void TimeLeft::finish(std::size_t task) { finished_ += costs_[task]; }

Seconds TimeLeft::operator()(Seconds elapsed, const std::vector<RunningTask>& running) const {
  Seconds done = finished_;
  for (const RunningTask& task : running) {
    if (task.headway.all > 0)
      done += static_cast<double>(task.headway.done) / task.headway.all * costs_[static_cast<std::size_t>(task.index)];
  }
  if (done == Seconds(0)) return std::max(Seconds(0), all_ / std::min<double>(parallel_, static_cast<double>(costs_.size())) - elapsed);
  return (all_ / done - 1.0) * elapsed;
}

}  // namespace syncopate
