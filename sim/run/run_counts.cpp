#include "run/run_counts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <variant>
#include <vector>

#include "base/indexed.hpp"
#include "collective/plan.hpp"

namespace syncopate {

namespace {

double warmup_of(const Scenario& scenario) { return scenario.schedule.pace.steps_before_warmup + scenario.warmup; }

/// Latencies of an all-reduce over all ranks.
double rounds_of(const Scenario& scenario, int ranks) { return scenario.all_reduce.algorithm->all_reduce.rounds(ranks); }

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

/// Of a worker in a step, on average.
double posts_per_step(Setup& setup) {
  const Schedule& schedule = setup.scenario().schedule;
  if (!schedule.posts) return 1.0;
  const bool by_cost = schedule.groups_by_cost && setup.ranks() > 1;
  return schedule.posts(setup.profile(), by_cost ? setup.collective_cost(Fidelity::alpha_beta) : CostCurve());
}

/// For the answer to its messages, per step.
Seconds latency_of_servers(Setup& setup, int rank, double posts) {
  const Schedule& schedule = setup.scenario().schedule;
  if (schedule.pace.waits_later) return Seconds(0);
  const double ways = schedule.traffic.servers->on_request ? 4.0 : 2.0;
  return ways * std::min(1.0, posts) * setup.network().hop(rank, setup.network().server_ranks().front()).latency;
}

/// A worker's shortest step. Servers' links may hold all workers up, a peer's those that wait for it.
Seconds step_of_worker(Setup& setup, int rank, double posts) {
  const Scenario& scenario = setup.scenario();
  const Traffic& traffic = scenario.schedule.traffic;
  const StepProfile& profile = setup.profile();
  if (scenario.schedule.pace.is_lossy) return profile.compute();
  const Rate rate = fastest_link(scenario.cluster);
  if (traffic.servers) {
    const double clients_per_server = std::max(1.0, static_cast<double>(setup.ranks()) / traffic.servers->servers);
    const Seconds alone = profile.compute() + latency_of_servers(setup, rank, posts);
    return std::max(alone, clients_per_server * (std::min(1.0, posts) * profile.bytes() / rate));
  }
  const bool waits_for_answers = traffic.peers && traffic.peers->drawn && rank % 2 == 0;
  return waits_for_answers ? std::max(profile.compute(), 2.0 * (profile.bytes() / rate)) : profile.compute();
}

/// Gradient steps of workers that do not wait for the slowest: the window opens with that one, each of whose rounds ends with a step, and
/// closes with the fastest.
double steps_of_independent(Setup& setup, double posts, const std::optional<SeenPaces>& paces) {
  const Scenario& scenario = setup.scenario();
  const Speed& speed = scenario.speed;
  const int ranks = setup.ranks();
  const bool draws_peers = scenario.schedule.traffic.peers && scenario.schedule.traffic.peers->drawn;
  const bool are_apart = scenario.schedule.traffic.servers && scenario.cluster.regions;
  const bool are_alike = speed.slow.empty() && speed.traces.empty() && speed.pauses.empty() && !draws_peers && !are_apart;
  if (!paces && (are_alike || step_of_worker(setup, 0, posts) == Seconds(0))) return ranks * steps_of(scenario);
  const int gpus = scenario.cluster.workers() / ranks;
  struct Pace {
    Seconds step;
    std::vector<Pause> pauses;
  };
  std::vector<Pace> workers;
  Seconds open;
  const auto pace_of = [&](int rank) {
    if (paces) return paces->step[at(rank)];
    double slowness = 0.0;
    for (int gpu = 0; gpu < gpus; ++gpu) slowness = std::max(slowness, speed.slowness(rank * gpus + gpu));
    const auto& own = setup.own_steps();
    if (!own.empty() && own[at(rank)]) slowness *= own[at(rank)]->whole;
    return slowness * step_of_worker(setup, rank, posts);
  };
  for (int rank = 0; rank < ranks; ++rank) {
    workers.push_back({pace_of(rank), speed.pauses_of(rank * gpus, gpus)});
    open = std::max(open, end_of_compute(Seconds(0), warmup_of(scenario) * workers.back().step, workers.back().pauses));
  }
  const double in_window = scenario.measured * (paces ? paces->steps_per_round : std::max(1, scenario.schedule.pace.steps_per_round));
  Seconds close(std::numeric_limits<double>::infinity());
  for (const Pace& worker : workers) close = std::min(close, end_of_compute(open, in_window * worker.step, worker.pauses));
  double steps = 0.0;
  for (const Pace& worker : workers) {
    Seconds computing = close;
    for (const Pause& pause : worker.pauses) computing -= std::max(Seconds(0), std::min(pause.end, close) - pause.start);
    steps += std::ceil(computing / worker.step);
  }
  return steps;
}

/// Gradient steps of all simulated workers.
double steps_of_all(Setup& setup, int simulated, double posts, const std::optional<SeenPaces>& paces = {}) {
  const Schedule& schedule = setup.scenario().schedule;
  if (simulated > 1 && !schedule.waits_for_slowest()) return steps_of_independent(setup, posts, paces);
  const double made = paces ? paces->steps_per_round / std::max(1, schedule.pace.steps_per_round) : 1.0;
  return made * simulated * steps_of(setup.scenario());
}

/// The messages of the plan, each listed once however often its stage comes.
double count_listed(const Plan& plan) {
  double messages = 0.0;
  for (const PlanStep& step : plan.steps) {
    if (const auto* stage = std::get_if<Stage>(&step)) messages += static_cast<double>(stage->messages.size());
  }
  return messages;
}

/// The terms of a recurrence over the plan (PlanTimes). Around a ring of many equal links they do not depend on the number of rounds, and
/// along the chains of regions not on the number of pieces. `regions`: 0 without regions.
double count_terms(const Plan& plan, std::size_t regions, bool by_region) {
  constexpr int few_ranks = 64;
  constexpr double of_rank = 4.0;
  constexpr double of_ring_message = 0.3;
  constexpr double of_chains = 6.0;
  if (by_region) return of_chains * plan.ranks + 2.0 * static_cast<double>(regions * regions);
  double terms = 0.0;
  for (const PlanStep& step : plan.steps) {
    const auto* stage = std::get_if<Stage>(&step);
    if (stage == nullptr) continue;
    const auto messages = static_cast<double>(stage->messages.size());
    const bool is_ring = plan.cells == 1 && stage->messages.size() == at(plan.ranks) && plan.protocol == Protocol() && stage->repeats > 1;
    const double all = messages * stage->repeats * plan.segments(*stage);
    terms += !is_ring ? all : regions == 0 && plan.ranks > few_ranks ? of_rank * messages : of_ring_message * all;
  }
  return terms;
}

/// Of the messages of a plan, the fraction that cross a link which several can fill.
double shared_fraction(PlannedCollective& collective) {
  const Plan& plan = collective.plan();
  double all = 0.0;
  double shared = 0.0;
  for (int step = 0; step < static_cast<int>(plan.steps.size()); ++step) {
    const auto* stage = std::get_if<Stage>(&plan.steps[at(step)]);
    if (stage == nullptr) continue;
    all += static_cast<double>(stage->messages.size()) * stage->repeats;
    for (int message = 0; message < static_cast<int>(stage->messages.size()); ++message) {
      if (collective.way(step, message).can_share) shared += stage->repeats;
    }
  }
  return shared / std::max(1.0, all);
}

/// What moves over a row of streams in a run.
struct StreamLoad {
  const StreamSetup& stream;
  const Communicator& largest;
  double groups = 1.0;
  double collectives = 0.0;  ///< of all groups
  double different = 0.0;    ///< those that are not the same again, if all ranks start at once
  Bytes bytes;               ///< of each
};

std::vector<StreamLoad> loads_of(const Setup& setup, double posts, double steps) {
  const StepProfile& profile = setup.profile();
  std::set<Bytes> sizes;
  for (const StepProfile::GradientReady& gradient : profile.gradients) sizes.insert(gradient.bytes);
  std::vector<StreamLoad> loads;
  const auto count = static_cast<double>(setup.streams().size());
  for (const StreamSetup& stream : setup.streams()) {
    const Communicator& largest = *std::max_element(stream.groups.begin(), stream.groups.end(),
                                                    [](const Communicator& a, const Communicator& b) { return a.size() < b.size(); });
    const auto groups = static_cast<double>(stream.groups.size());
    const double collectives = posts / count * steps * groups;
    const double kinds = static_cast<double>(sizes.size()) * static_cast<double>(stream.operations.size());
    const double different = std::max(1.0, std::min({collectives, kinds, posts}));
    loads.push_back({stream, largest, groups, collectives, different, profile.bytes() / std::max(1.0, posts)});
  }
  return loads;
}

PlannedCollective& planned(Setup& setup, const StreamLoad& load) {
  return setup.planned()(load.stream.operations.empty() ? Operation::all_reduce : load.stream.operations.front(), load.largest, load.bytes);
}

constexpr double growth_of_sharing = 1.4;  // of the time to share links among so many
constexpr double growth_if_joined = 1.0;   // over regions whose servers are alike, so that their flows move as one

/// `meet`: how many flows get another rate when one of them starts or ends.
void add_flows(double flows, double meet, RunCounts& counts, double growth = growth_of_sharing) {
  counts.flows += flows;
  if (meet > 1.0) counts.met_flows += flows * std::pow(meet, growth);
}

void add_collectives(Setup& setup, const RunPlan& plan, double posts, RunCounts& counts) {
  const Scenario& scenario = setup.scenario();
  const Network& network = setup.network();
  const bool draws = scenario.cluster.latency_cv > 0.0 || network.latencies_vary() || network.changes_with_time();
  const bool repeats = scenario.speed.uniform() && scenario.schedule.pace.waits_for_all && !draws && setup.options().shortcuts &&
                       plan.fidelity != Fidelity::simgrid;
  const std::size_t regions = scenario.cluster.regions ? scenario.cluster.regions->list.size() : 0;
  const bool is_alone = setup.collectives().size() == 1 && !scenario.schedule.traffic.peers && !draws;
  for (const StreamLoad& load : loads_of(setup, posts, counts.steps / plan.simulated)) {
    counts.collectives += load.collectives;
    if (plan.fidelity == Fidelity::alpha_beta || load.stream.rules.is_partial()) continue;
    const int ranks = load.largest.size();
    const bool by_message = moves_by_message(load.stream, shares_links(plan.fidelity), network.latencies_vary());
    if (plan.simulated == 1 && !by_message) {
      const double stages = std::min(rounds_of(scenario, ranks), 2.0 * static_cast<double>(std::bit_width(at(ranks))));
      counts.planned += ranks * stages;
      counts.recurred += load.collectives * stages;
      continue;
    }
    PlannedCollective& collective = planned(setup, load);
    counts.planned += load.groups * count_listed(collective.plan());
    if (!by_message) {
      counts.recurred +=
          (repeats ? load.different : load.collectives) * count_terms(collective.plan(), regions, scenario.all_reduce.by_region);
      continue;
    }
    const int overlapping = load.stream.rules.channels;
    const double each = count_messages(collective.plan()) / (plan.simulated == 1 ? ranks : 1);
    if (plan.simulated > 1) counts.shown += load.collectives * each;
    const bool recalls = repeats && is_alone && overlapping == 1;
    const double messages = (recalls ? load.different : load.collectives) * each;
    double shared = 0.0;
    if (shares_links(plan.fidelity)) shared = is_alone && overlapping == 1 ? shared_fraction(collective) : 1.0;
    counts.messages += (1.0 - shared) * messages;
    // What starts and ends at once is shared out at once. Round a ring, and on a star, a message meets few others.
    const bool meets_few = repeats || network.is_star() || scenario.all_reduce.algorithm == &ring();
    const bool inside_node = ranks <= scenario.cluster.gpus_per_node && load.groups > 1.0;
    add_flows(shared * messages, meets_few ? 1.0 : inside_node ? ranks : scenario.cluster.nodes, counts);
  }
}

/// Clients whose messages move at the same time.
double busy_clients(const Setup& setup, double posts) {
  const Scenario& scenario = setup.scenario();
  const double clients = setup.ranks();
  const Bytes sent = 2.0 * std::min(1.0, posts) * setup.profile().bytes();
  const Seconds all = clients / scenario.schedule.traffic.servers->servers * (sent / fastest_link(scenario.cluster));
  return std::max(1.0, clients * (all / (all + setup.profile().compute())));
}

void add_exchanges(const Setup& setup, const RunPlan& plan, double posts, RunCounts& counts) {
  const Scenario& scenario = setup.scenario();
  const Traffic& traffic = scenario.schedule.traffic;
  if (!traffic.servers && !traffic.peers) return;
  counts.exchanges = counts.posts;
  const bool are_unequal = traffic.servers && traffic.servers->colocated;  // some are on a server's node
  const bool are_together = scenario.speed.uniform() && !are_unequal && !setup.network().latencies_vary();
  if (traffic.peers && shares_links(plan.fidelity)) {
    const bool meet_few = !traffic.peers->drawn && (are_together || setup.network().is_star());
    add_flows(counts.posts, meet_few ? 1.0 : plan.ranks, counts);
  }
  if (traffic.servers && (shares_links(plan.fidelity) || setup.serves_by_flows())) {
    const double parts = setup.flows_per_exchange();
    const double growth = scenario.cluster.regions && parts < traffic.servers->servers ? growth_if_joined : growth_of_sharing;
    add_flows(2.0 * parts * counts.exchanges, are_together ? 1.0 : parts * busy_clients(setup, posts), counts, growth);
  }
}

/// A program waits for each of what it posts, by layers.
bool waits_by_layer(const Traffic& traffic) {
  if (traffic.servers && traffic.servers->by_priority) return true;
  return std::any_of(traffic.streams.begin(), traffic.streams.end(), [](const StreamTraffic& stream) {
    const std::vector<Operation>& operations = stream.operations;
    return stream.rules.by_priority || std::find(operations.begin(), operations.end(), Operation::reduce_scatter) != operations.end();
  });
}

}  // namespace

double steps_of(const Scenario& scenario) {
  return (warmup_of(scenario) + scenario.measured) * std::max(1, scenario.schedule.pace.steps_per_round);
}

Seconds least_step(const Scenario& scenario, const StepProfile& profile) {
  if (scenario.cluster.workers() == 1 || scenario.schedule.pace.is_lossy) return profile.compute();
  const double posts = scenario.schedule.posts && !scenario.schedule.groups_by_cost ? scenario.schedule.posts(profile, CostCurve()) : 1.0;
  return std::max(profile.compute(), std::min(1.0, posts) * profile.bytes() / fastest_link(scenario.cluster));
}

double estimate_messages(Setup& setup) {
  const Scenario& scenario = setup.scenario();
  const Traffic& traffic = scenario.schedule.traffic;
  const double posts = posts_per_step(setup);
  const double steps = steps_of_all(setup, setup.ranks(), posts);
  if (!traffic.has_collectives()) return posts * steps * (traffic.servers ? setup.flows_per_exchange() : 1.0);
  double messages = 0.0;
  for (const StreamLoad& load : loads_of(setup, posts, steps / setup.ranks())) {
    messages += (setup.repeats_collectives() ? load.different : load.collectives) * count_messages(planned(setup, load).plan());
  }
  return messages;
}

RunCounts estimate_counts(Setup& setup, const RunPlan& plan, const std::optional<SeenPaces>& paces) {
  const Scenario& scenario = setup.scenario();
  const int most_steps_per_round = scenario.schedule.pace.steps_per_round;
  const double posts = posts_per_step(setup) * (paces && most_steps_per_round > 0 ? most_steps_per_round / paces->steps_per_round : 1.0);
  RunCounts counts;
  counts.steps = steps_of_all(setup, plan.simulated, posts, paces);
  const bool slows_layers = scenario.speed.overlap_slowdown > 0.0;
  const bool runs_ahead = setup.options().may_be_one() && !scenario.schedule.traffic.has_partial_collectives();
  double pieces = runs_ahead ? 0.0 : 2.0;
  // A worker looks at its channel before each layer, but before few of a step in which nothing of its own moves.
  if (slows_layers) pieces = 2.0 + 2.0 * static_cast<double>(setup.profile().layers.size()) * std::min(1.0, posts);
  if (plan.simulated > 1) counts.wakes = counts.steps * pieces;
  if (scenario.cluster.workers() == 1 && !scenario.schedule.traffic.servers) return counts;  // nobody to send anything to
  counts.posts = posts * counts.steps;
  if (plan.simulated > 1 && waits_by_layer(scenario.schedule.traffic)) counts.wakes += counts.posts;
  if (scenario.schedule.traffic.has_collectives()) add_collectives(setup, plan, posts, counts);
  add_exchanges(setup, plan, posts, counts);
  return counts;
}

}  // namespace syncopate
