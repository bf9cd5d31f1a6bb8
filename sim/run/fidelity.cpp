#include "run/fidelity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/errors.hpp"
#include "run/cost.hpp"

namespace syncopate {

namespace {

constexpr double most_seconds = 3600.0;

/// Any two messages from peer to peer, each stage being a step.
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

/// Two groups' collectives cross a link. Makes no plans where there is one group only.
bool groups_share(Setup& setup) {
  if (std::all_of(setup.streams().begin(), setup.streams().end(), [](const StreamSetup& row) { return row.groups.size() == 1; }))
    return false;
  std::vector<const Communicator*> on;  // by link
  for (const Setup::Collective& one : setup.collectives()) {
    const std::vector<double>& loads = setup.planned()(one.operation, one.communicator, setup.profile().bytes()).loads();
    on.resize(std::max(on.size(), loads.size()));
    for (std::size_t link = 0; link < loads.size(); ++link) {
      if (loads[link] == 0.0) continue;
      if (on[link] != nullptr && *on[link] != one.communicator) return true;
      on[link] = &one.communicator;
    }
  }
  return false;
}

/// Collectives of several streams cross a link, and only flows know.
bool streams_meet(Setup& setup) { return setup.streams().size() > 1 || groups_share(setup); }

/// Whether messages can fill a link together.
bool can_share(Setup& setup) {
  const Traffic& traffic = setup.scenario().schedule.traffic;
  const bool is_star = setup.network().is_star();
  if (traffic.servers && (!is_star || setup.serves_by_flows())) return true;
  if (traffic.peers && traffic.peers->drawn) return setup.ranks() > 2 || !is_star;
  if (traffic.peers && !is_star && peers_share(*traffic.peers, setup)) return true;
  if (streams_meet(setup)) return true;
  return std::any_of(setup.collectives().begin(), setup.collectives().end(), [&](const Setup::Collective& one) {
    return setup.planned()(one.operation, one.communicator, setup.profile().bytes()).can_share();
  });
}

/// The messages of the whole run that have to move: counted in alpha-beta fidelity, which posts as much.
double count_messages(Setup& setup) {
  const Schedule& schedule = setup.scenario().schedule;
  const bool repeats = setup.options().shortcuts && setup.scenario().speed.uniform() && schedule.pace.waits_for_all &&
                       setup.scenario().cluster.latency_cv == 0.0 && !setup.network().latencies_vary() && !setup.overlaps_collectives() &&
                       setup.streams().size() == 1 && setup.streams().front().groups.size() == 1;
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
      const Communicator& communicator = run.streams[static_cast<std::size_t>(span.stream)];
      messages += count_messages(setup.planned()(span.operation, communicator, span.payload->bytes).plan());
    }
  }
  double posts = 0.0;
  if (!schedule.traffic.has_collectives()) {
    for (const auto& steps : run.steps) {
      for (const Step& step : steps) posts += step.posts;
    }
  }
  const double parts = job.servers ? job.servers->servers : 1.0;
  return messages + posts * parts * job.ranks / static_cast<double>(run.steps.size());
}

std::string describe(double messages, double seconds) {
  return fmt::format("{:.3g} messages as flows take about {}", messages,
                     seconds < 7200.0 ? fmt::format("{:.0f} minutes", seconds / 60.0) : fmt::format("{:.0f} hours", seconds / 3600.0));
}

double flow_seconds(Setup& setup, double messages) {
  const double ranks = setup.ranks();
  if (setup.scenario().schedule.traffic.servers) return messages * cost_of_server_flow_by_rank.value * ranks;
  const double alone = cost_of_flow.value * std::max(1.0, ranks / 2048.0);
  return messages * (can_share(setup) ? std::max(alone, cost_of_contended_flow_by_rank.value * ranks) : alone);
}

/// Throws SimulationError when flows take more than an hour.
FidelityChoice require_feasible(const Setup& setup, double messages, double seconds) {
  if (seconds <= most_seconds) return {Fidelity::flow, ""};
  const bool serves = setup.scenario().schedule.traffic.servers.has_value();
  const std::string_view advice = serves ? R"(fewer "servers", a "grouping" that merges gradients, )" : R"("fidelity": "per-message", )";
  throw SimulationError(fmt::format("{}, over the limit of an hour; use {}fewer nodes or iterations, or a schedule with fewer messages",
                                    describe(messages, seconds), advice));
}

/// Messages that have links for themselves cannot be computed collective by collective: what each of them takes; 0 where they can.
double seconds_by_message(Setup& setup) {
  const Scenario& scenario = setup.scenario();
  if (!scenario.schedule.traffic.has_collectives() || setup.moves_in_lockstep(Fidelity::per_message)) return 0.0;
  if (setup.overlaps_collectives() || setup.network().latencies_vary()) return cost_of_message.value;
  const bool repeats = scenario.all_reduce.across_gpus && scenario.speed.uniform();  // round the ring
  return scenario.cluster.protocol != Protocol() || (scenario.all_reduce.across_gpus && !repeats) ? cost_of_message_of_recurrence.value
                                                                                                  : 0.0;
}

void require_feasible_by_message(Setup& setup, double messages, double seconds) {
  if (seconds <= most_seconds) return;
  throw SimulationError(
      fmt::format("{:.3g} messages one by one take about {:.0f} hours, over the limit of one; use {}fewer nodes or iterations, a "
                  "schedule with fewer messages{}",
                  messages, seconds / 3600.0, knows_a_line(setup.scenario()) ? R"("fidelity": "alpha-beta", )" : "",
                  setup.network().latencies_vary() ? R"(, or links without "latency_jitter")" : ""));
}

FidelityChoice choose_unasked(Setup& setup) {
  const Scenario& scenario = setup.scenario();
  const Traffic& traffic = scenario.schedule.traffic;
  if (traffic.has_collectives() && scenario.cluster.fit) return {Fidelity::alpha_beta, ""};
  const bool shared = can_share(setup);
  if (traffic.has_partial_collectives()) {
    return {
        Fidelity::per_message,
        shared ? "approximate: not all ranks take part in an all-reduce, whose messages have links for themselves though some meet" : ""};
  }
  if (shared || setup.network().changes_with_time()) {
    const double messages = count_messages(setup);
    const double seconds = flow_seconds(setup, messages);
    if (seconds <= most_seconds_unasked.value) return {Fidelity::flow, ""};
    if (traffic.servers || setup.network().changes_with_time()) return require_feasible(setup, messages, seconds);
    return {Fidelity::per_message,
            fmt::format(R"(approximate: {}, so that every message has links for itself though some meet; "fidelity": "flow" shares them)",
                        describe(messages, seconds))};
  }
  if (const double each = seconds_by_message(setup); each > 0.0) {
    const double messages = count_messages(setup);
    if (knows_a_line(scenario) && messages * each > most_seconds_by_message_unasked.value) {
      return {Fidelity::alpha_beta,
              fmt::format(R"(approximate: {:.3g} messages one by one take long, so that collectives are single events; )"
                          R"("fidelity": "per-message" simulates them)",
                          messages)};
    }
    require_feasible_by_message(setup, messages, messages * each);
  }
  return {Fidelity::per_message, ""};
}

FidelityChoice choose(Setup& setup) {
  const auto& asked = setup.scenario().fidelity;
  if (setup.ranks() == 1 && !setup.scenario().schedule.traffic.servers) return {asked.value_or(Fidelity::alpha_beta), ""};
  if (!asked) return choose_unasked(setup);
  if (const double each = *asked == Fidelity::per_message ? seconds_by_message(setup) : 0.0; each > 0.0) {
    const double messages = count_messages(setup);
    require_feasible_by_message(setup, messages, messages * each);
  }
  if (*asked != Fidelity::flow && !setup.serves_by_flows()) {
    return {*asked, streams_meet(setup) ? "approximate: collectives of several streams cross the same links, which only flows share" : ""};
  }
  const double messages = count_messages(setup);
  require_feasible(setup, messages, flow_seconds(setup, messages));
  return {*asked, ""};
}

}  // namespace

bool knows_a_line(const Scenario& scenario) {
  const bool has_messages =
      scenario.all_reduce.chunk > Bytes(0) || scenario.all_reduce.by_region || scenario.cluster.protocol != Protocol();
  return !has_messages && !scenario.cluster.regions;
}

std::string faster_fidelity(const Scenario& scenario) {
  if (scenario.jobs || !scenario.schedule.traffic.has_collectives() || scenario.fidelity == Fidelity::alpha_beta) return "";
  if (knows_a_line(scenario)) return R"("fidelity": "alpha-beta")";
  return scenario.fidelity == Fidelity::flow ? R"("fidelity": "per-message")" : "";
}

FidelityChoice choose_fidelity(Setup& setup) {
  FidelityChoice choice = choose(setup);
  const Traffic& traffic = setup.scenario().schedule.traffic;
  const bool takes_means = choice.fidelity == Fidelity::alpha_beta ? !traffic.servers : traffic.has_partial_collectives();
  if (takes_means && setup.ranks() > 1 && setup.network().latencies_vary()) {
    choice.note += fmt::format("{}of latencies that vary it takes the mean", choice.note.empty() ? "" : "; ");
  }
  return choice;
}

}  // namespace syncopate
