#include "run/run_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/errors.hpp"
#include "base/indexed.hpp"
#include "run/run_counts.hpp"

namespace syncopate {

namespace {

/// The cost of a message by which `auto` decides between fidelities: as a flow alone on its links, among up to 2048 ranks; as a flow that
/// meets many, by the number of ranks; as a flow on servers' links, by the number of ranks.
constexpr Seconds flow_alone(0.5e-6);
constexpr Seconds contended_flow_by_rank(5e-9);
constexpr Seconds server_flow_by_rank(7e-8);
/// Messages that are simulated one by one, because several collectives are in flight or latencies vary; and if only starts differ.
constexpr Seconds message_alone(1e-6);
constexpr Seconds message_of_recurrence(6e-9);

/// If flows, or messages one by one, take longer, `auto` takes something faster, if there is anything.
constexpr Seconds most_unasked(600.0);
constexpr Seconds most_by_message_unasked(100.0);
/// A point that takes longer is refused.
constexpr Seconds most_at_all(3600.0);

/// Two messages between peers can fill a link together. Each stage is a step.
bool peers_share(const PeerTraffic& peers, Setup& setup) {
  const int ranks = setup.ranks();
  Plan plan = {.ranks = ranks};
  for (int step = 0; step < peers.period(ranks); ++step) {
    Stage stage;
    for (int rank = 0; rank < ranks; ++rank) stage.messages.push_back({rank, peers.to(rank, step, ranks)});
    plan.steps.emplace_back(std::move(stage));
  }
  return PlannedCollective(std::move(plan), Communicator(ranks), setup.network(), SecondsPerByte(0)).can_share();
}

/// Collectives of two groups cross a link. Makes no plans where there is one group only.
bool groups_share(Setup& setup) {
  if (std::all_of(setup.streams().begin(), setup.streams().end(), [](const StreamSetup& row) { return row.groups.size() == 1; }))
    return false;
  std::vector<const Communicator*> on;  // by link
  for (const Setup::Collective& collective : setup.collectives()) {
    const std::vector<double>& loads = setup.planned()(collective.operation, collective.communicator, setup.profile().bytes()).loads();
    on.resize(std::max(on.size(), loads.size()));
    for (std::size_t link = 0; link < loads.size(); ++link) {
      if (loads[link] == 0.0) continue;
      if (on[link] != nullptr && *on[link] != collective.communicator) return true;
      on[link] = &collective.communicator;
    }
  }
  return false;
}

/// Collectives of several streams cross the same link. Only flows simulate that.
bool streams_meet(Setup& setup) { return setup.streams().size() > 1 || groups_share(setup); }

/// Whether messages can fill a link together.
bool can_share(Setup& setup) {
  const Traffic& traffic = setup.scenario().schedule.traffic;
  const bool is_star = setup.network().is_star();
  if (traffic.servers && (!is_star || setup.serves_by_flows())) return true;
  if (traffic.peers && traffic.peers->drawn) return setup.ranks() > 2 || !is_star;
  if (traffic.peers && !is_star && peers_share(*traffic.peers, setup)) return true;
  if (streams_meet(setup)) return true;
  if (is_star) return false;
  return std::any_of(setup.collectives().begin(), setup.collectives().end(), [&](const Setup::Collective& collective) {
    return setup.planned()(collective.operation, collective.communicator, setup.profile().bytes()).can_share();
  });
}

/// The messages of the whole run, counted by a simulation in alpha-beta fidelity, which posts the same collectives.
double simulated_messages(Setup& setup) {
  const Schedule& schedule = setup.scenario().schedule;
  const bool repeats = setup.repeats_collectives();
  Job job = setup.job(Fidelity::alpha_beta);
  job.lockstep = setup.moves_in_lockstep(Fidelity::alpha_beta);
  job.shown_workers.clear();
  if (job.servers) job.servers->as_flows = false;
  const Timeline timeline = simulate({job}, setup.network());
  const JobTimeline& run = timeline.front();
  double messages = 0.0;
  std::set<std::tuple<Operation, int, Bytes>> seen;
  for (const CollectiveSpan& span : run.collectives) {
    if (!repeats || seen.insert({span.operation, span.stream, span.payload->bytes}).second) {
      const Communicator& communicator = run.streams[at(span.stream)];
      messages += count_messages(setup.planned()(span.operation, communicator, span.payload->bytes).plan());
    }
  }
  double posts = 0.0;
  if (!schedule.traffic.has_collectives()) {
    for (const auto& steps : run.steps) {
      for (const Step& step : steps) posts += step.posts;
    }
  }
  const double parts = job.servers ? setup.flows_per_exchange() : 1.0;
  return messages + posts * parts * job.ranks / static_cast<double>(run.steps.size());
}

/// Whether making the plan may simulate, to count messages.
enum class By { simulation, estimate };

/// Messages that move, and how long that takes.
struct Load {
  double messages = 0.0;
  Seconds time;
};

std::string describe(const Load& load) {
  const double seconds = load.time.value;
  return fmt::format("{:.3g} messages as flows take about {}", load.messages,
                     seconds < 7200.0 ? fmt::format("{:.0f} minutes", seconds / 60.0) : fmt::format("{:.0f} hours", seconds / 3600.0));
}

/// Counts the messages only if their estimate is within a factor of 10 of the limit.
Load load_of(Setup& setup, Seconds each, Seconds limit, By by) {
  constexpr double margin = 10.0;
  double messages = estimate_messages(setup);
  if (by == By::simulation && margin * messages * each > limit) messages = simulated_messages(setup);
  return {messages, messages * each};
}

/// What each message takes as a flow.
Seconds time_as_flow(Setup& setup) {
  const double ranks = setup.ranks();
  if (setup.scenario().schedule.traffic.servers) return ranks * server_flow_by_rank;
  const Seconds alone = std::max(1.0, ranks / 2048.0) * flow_alone;
  return can_share(setup) ? std::max(alone, ranks * contended_flow_by_rank) : alone;
}

/// Throws SimulationError when flows take more than an hour.
RunPlan require_feasible(const Setup& setup, const Load& load, By by) {
  if (load.time <= most_at_all || by == By::estimate) return {.fidelity = Fidelity::flow};
  const bool serves = setup.scenario().schedule.traffic.servers.has_value();
  const std::string_view advice = serves ? R"(fewer "servers", a "grouping" that merges gradients, )" : R"("fidelity": "per-message", )";
  throw SimulationError(fmt::format("{}, over the limit of an hour; use {}fewer nodes or iterations, or a schedule with fewer messages",
                                    describe(load), advice));
}

/// The time that each message takes in per-message fidelity; 0 if whole collectives are computed by a recurrence.
Seconds time_by_message(Setup& setup) {
  const Scenario& scenario = setup.scenario();
  if (!scenario.schedule.traffic.has_collectives() || setup.moves_in_lockstep(Fidelity::per_message)) return Seconds(0);
  if (setup.overlaps_collectives() || setup.network().latencies_vary()) return message_alone;
  const bool repeats = scenario.all_reduce.across_gpus && scenario.speed.uniform();  // round the ring
  const bool recurs = scenario.cluster.protocol != Protocol() || (scenario.all_reduce.across_gpus && !repeats);
  return recurs ? message_of_recurrence : Seconds(0);
}

void require_feasible_by_message(const Setup& setup, const Load& load, By by) {
  if (load.time <= most_at_all || by == By::estimate) return;
  throw SimulationError(
      fmt::format("{:.3g} messages one by one take about {:.0f} hours, over the limit of one; use {}fewer nodes or iterations, a "
                  "schedule with fewer messages{}",
                  load.messages, load.time.value / 3600.0, knows_a_line(setup.scenario()) ? R"("fidelity": "alpha-beta", )" : "",
                  setup.network().latencies_vary() ? R"(, or links without "latency_jitter")" : ""));
}

RunPlan choose_unasked(Setup& setup, By by) {
  const Scenario& scenario = setup.scenario();
  const Traffic& traffic = scenario.schedule.traffic;
  if (traffic.has_collectives() && (scenario.cluster.is_fitted() || scenario.all_reduce.in_network))
    return {.fidelity = Fidelity::alpha_beta};
  const bool shared = can_share(setup);
  if (traffic.has_partial_collectives()) {
    return {.fidelity = Fidelity::per_message,
            .note = shared
                        ? "approximate: not all ranks take part in an all-reduce, whose messages have links for themselves though some meet"
                        : ""};
  }
  if (shared || setup.network().changes_with_time()) {
    const Load load = load_of(setup, time_as_flow(setup), most_unasked, by);
    if (load.time <= most_unasked) return {.fidelity = Fidelity::flow};
    if (traffic.servers || setup.network().changes_with_time()) return require_feasible(setup, load, by);
    return {.fidelity = Fidelity::per_message,
            .note = fmt::format(
                R"(approximate: {}, so that every message has links for itself though some meet; "fidelity": "flow" shares them)",
                describe(load))};
  }
  if (const Seconds each = time_by_message(setup); each > Seconds(0)) {
    const Load load = load_of(setup, each, most_by_message_unasked, by);
    if (knows_a_line(scenario) && load.time > most_by_message_unasked) {
      return {.fidelity = Fidelity::alpha_beta,
              .note = fmt::format(R"(approximate: {:.3g} messages one by one take long, so that collectives are single events; )"
                                  R"("fidelity": "per-message" simulates them)",
                                  load.messages)};
    }
    require_feasible_by_message(setup, load, by);
  }
  return {.fidelity = Fidelity::per_message};
}

RunPlan choose_simgrid(Setup& setup, By by) {
  const Load load = load_of(setup, message_in_simgrid(setup.scenario(), setup.ranks()), most_at_all, By::estimate);
  if (load.time > most_at_all && by == By::simulation) {
    throw SimulationError(
        fmt::format(R"({:.3g} messages in SimGrid take about {:.0f} hours, over the limit of one; use "fidelity": "flow", fewer nodes or )"
                    "iterations, or a schedule with fewer messages",
                    load.messages, load.time.value / 3600.0));
  }
  return {.fidelity = Fidelity::simgrid};
}

RunPlan choose(Setup& setup, By by) {
  const auto& asked = setup.scenario().fidelity;
  if (setup.ranks() == 1 && !setup.scenario().schedule.traffic.servers) return {.fidelity = asked.value_or(Fidelity::alpha_beta)};
  if (!asked) return choose_unasked(setup, by);
  if (*asked == Fidelity::simgrid) return choose_simgrid(setup, by);
  if (const Seconds each = *asked == Fidelity::per_message ? time_by_message(setup) : Seconds(0); each > Seconds(0)) {
    require_feasible_by_message(setup, load_of(setup, each, most_at_all, by), by);
  }
  if (*asked != Fidelity::flow && !setup.serves_by_flows()) {
    return {.fidelity = *asked,
            .note = streams_meet(setup) ? "approximate: collectives of several streams cross the same links, which only flows share" : ""};
  }
  require_feasible(setup, load_of(setup, time_as_flow(setup), most_at_all, by), by);
  return {.fidelity = *asked};
}

RunPlan plan_of(Setup& setup, By by) {
  RunPlan plan = choose(setup, by);
  const Traffic& traffic = setup.scenario().schedule.traffic;
  const bool takes_means = plan.fidelity == Fidelity::alpha_beta ? !traffic.servers : traffic.has_partial_collectives();
  if (takes_means && setup.ranks() > 1 && setup.network().latencies_vary()) {
    plan.note += fmt::format("{}of latencies that vary it takes the mean", plan.note.empty() ? "" : "; ");
  }
  plan.ranks = setup.ranks();
  plan.simulated = setup.stands_for_all(plan.fidelity) ? 1 : plan.ranks;
  if (by == By::estimate) plan.counts = estimate_counts(setup, plan);
  return plan;
}

}  // namespace

RunPlan plan_of(Setup& setup) { return plan_of(setup, By::simulation); }

RunPlan estimate_plan(Setup& setup) { return plan_of(setup, By::estimate); }

RunPlan plan_of(const Scenario& scenario, const PointOptions& options) {
  try {
    Setup setup(scenario, options);
    return plan_of(setup, By::estimate);
  } catch (const SimulationError&) {  // the simulation throws it again, and says why
    const int workers = scenario.cluster.workers();
    return {.ranks = workers, .simulated = workers};
  }
}

Seconds message_in_simgrid(const Scenario& scenario, int ranks) {
  constexpr Seconds by_itself(2e-6);
  constexpr Seconds in_flight(3e-9);     // when one ends, SimGrid goes through all in flight, of which a rank has about one ...
  constexpr Seconds over_server(6e-8);   // ... and shares a server's link anew
  constexpr double with_way_back = 1.5;  // acknowledgements take bandwidth there
  const Seconds each = by_itself + ranks * (scenario.schedule.traffic.servers ? over_server : in_flight);
  return scenario.simgrid.network_model == "CM02" ? each : with_way_back * each;
}

bool knows_a_line(const Scenario& scenario) {
  const bool has_messages =
      scenario.all_reduce.chunk > Bytes(0) || scenario.all_reduce.by_region || scenario.cluster.protocol != Protocol();
  return !has_messages && !scenario.cluster.regions;
}

std::string faster_fidelity(const Scenario& scenario) {
  if (scenario.jobs || !scenario.schedule.traffic.has_collectives() || scenario.fidelity == Fidelity::alpha_beta) return "";
  if (knows_a_line(scenario)) return R"("fidelity": "alpha-beta")";
  if (scenario.fidelity == Fidelity::simgrid) return R"("fidelity": "flow")";
  return scenario.fidelity == Fidelity::flow ? R"("fidelity": "per-message")" : "";
}

void require_plan(const Scenario& scenario) {
  for (const Scenario* training : scenario.trainings()) {
    Setup setup(*training, {});
    (void)setup.job(estimate_plan(setup).fidelity);
  }
}

}  // namespace syncopate
