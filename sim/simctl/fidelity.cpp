#include "simctl/fidelity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/errors.hpp"
#include "base/processes.hpp"
#include "schedule/posts.hpp"

namespace syncopate {

namespace {

/// What one message as a flow takes at most and at least, as measured (README); between them it depends on how many share links.
constexpr double seconds_per_flow = 8e-6;
constexpr double seconds_per_contended_flow = 40e-6;
constexpr double most_seconds = 3600.0;
constexpr double most_seconds_unasked = 600.0;
/// Collectives in flight whose messages take turns, one by one, take about a microsecond each.
constexpr double most_turns = 1e8;

bool can_share(const PlannedCollective& collective) {
  return std::any_of(collective.shares.begin(), collective.shares.end(), [](bool shares) { return shares; });
}

/// Any two ranks between which sgp sends have a way to themselves.
bool peers_share(const Job& job, const Network& network) {
  Plan plan = {.ranks = job.ranks, .stages = {}};
  for (int distance = 1; distance < job.ranks; distance *= 2) {
    Stage stage;
    for (int rank = 0; rank < job.ranks; ++rank) stage.messages.push_back({rank, (rank + distance) % job.ranks});
    plan.stages.push_back(std::move(stage));
  }
  return can_share(PlannedCollective(std::move(plan), network, SecondsPerByte(0)));
}

Operation operation_of(const Schedule& schedule) { return schedule.gathers ? Operation::all_gather : Operation::all_reduce; }

/// Whether messages can fill a link together.
bool can_share(const Scenario& scenario, const Job& job, const Network& network) {
  if (scenario.schedule.servers) return !network.is_star();
  if (!scenario.schedule.all_reduces) return !network.is_star() && peers_share(job, network);
  return can_share((*job.planned)(operation_of(scenario.schedule), job.profile.bytes()));
}

template <class Function>
std::string in_another_process(const Function& function) {
  Outcome outcome;
  run_forked(
      1, 1, [&](int) { return function(); }, [&](int, const Outcome& its) { outcome = its; });
  if (!outcome.ok) throw SimulationError(outcome.error);
  return outcome.result;
}

/// The messages of the whole run that have to move: counted in alpha-beta fidelity, which posts as much.
double count_messages(const Scenario& scenario, const Job& job, const Network& network) {
  if (!network.knows_its_paths()) network.build();  // before a simulation runs
  Job quick = job;
  quick.fidelity = Fidelity::alpha_beta;
  quick.lockstep = moves_in_lockstep(scenario, quick, network);
  quick.shown_workers = 0;
  const bool repeats = job.shortcuts && scenario.speed.uniform() && scenario.schedule.waits_for_all && job.latency_cv == 0.0;
  const std::string counted = in_another_process([&] {
    const Timeline timeline = simulate({quick}, network);
    const JobTimeline& run = timeline.front();
    double messages = 0.0;
    std::set<std::pair<Operation, Bytes>> seen;
    for (const CollectiveSpan& span : run.collectives) {
      if (!repeats || seen.insert({span.operation, span.payload->bytes}).second) {
        messages += count_messages((*job.planned)(span.operation, span.payload->bytes).plan);
      }
    }
    double posts = 0.0;
    if (!scenario.schedule.all_reduces) {
      for (const auto& steps : run.steps) {
        for (const Step& step : steps) posts += step.posts;
      }
    }
    const double parts = job.servers ? job.servers->servers : 1.0;
    return fmt::format("{}", messages + posts * parts * job.ranks / static_cast<double>(run.steps.size()));
  });
  return std::stod(counted);
}

std::string describe(double messages, double seconds) {
  return fmt::format("{:.3g} messages as flows take about {}", messages,
                     seconds < 7200.0 ? fmt::format("{:.0f} minutes", seconds / 60.0) : fmt::format("{:.0f} hours", seconds / 3600.0));
}

double flow_seconds(const Scenario& scenario, const Job& job, const Network& network, double messages) {
  return messages * (can_share(scenario, job, network) ? seconds_per_contended_flow : seconds_per_flow) * std::max(1.0, job.ranks / 2048.0);
}

/// Throws SimulationError when flows take more than an hour.
FidelityChoice require_feasible(double messages, double seconds) {
  if (seconds <= most_seconds) return {Fidelity::flow, ""};
  throw SimulationError(fmt::format(R"({}, over the limit of an hour; use "fidelity": "per-message", fewer nodes or iterations, or )"
                                    R"(a schedule with fewer messages)",
                                    describe(messages, seconds)));
}

FidelityChoice choose_unasked(const Scenario& scenario, const Job& job, const Network& network) {
  const Schedule& schedule = scenario.schedule;
  if (schedule.all_reduces && scenario.cluster.fit) return {Fidelity::alpha_beta, ""};
  const bool shared = can_share(scenario, job, network);
  if (job.stream.participants < 1.0) {
    return {
        Fidelity::per_message,
        shared ? "approximate: not all ranks take part in an all-reduce, whose messages have links for themselves though some meet" : ""};
  }
  if (shared || network.changes_with_time()) {
    const double messages = count_messages(scenario, job, network);
    const double seconds = flow_seconds(scenario, job, network, messages);
    if (seconds <= most_seconds_unasked) return {Fidelity::flow, ""};
    if (schedule.servers || network.changes_with_time()) return require_feasible(messages, seconds);
    return {Fidelity::per_message,
            fmt::format(R"(approximate: {}, so that every message has links for itself though some meet; "fidelity": "flow" shares them)",
                        describe(messages, seconds))};
  }
  const bool knows_a_line = scenario.all_reduce.chunk == Bytes(0) && !scenario.cluster.regions;
  if (job.stream.pipelined && knows_a_line && !moves_in_lockstep(scenario, job, network)) {
    const double messages = count_messages(scenario, job, network);
    if (messages > most_turns) {
      return {Fidelity::alpha_beta,
              fmt::format(R"(approximate: {:.3g} messages in turns take long, so that collectives are single events; )"
                          R"("fidelity": "per-message" simulates them)",
                          messages)};
    }
  }
  return {Fidelity::per_message, ""};
}

}  // namespace

bool moves_in_lockstep(const Scenario& scenario, const Job& job, const Network& network) {
  const Schedule& schedule = scenario.schedule;
  const bool equal_clients = !schedule.servers || !schedule.servers->colocated || schedule.servers->servers == scenario.cluster.nodes;
  if (!schedule.waits_for_all || !equal_clients || !scenario.speed.uniform()) return false;
  if (scenario.cluster.workers() == 1 || job.fidelity == Fidelity::alpha_beta) return true;
  if (job.fidelity == Fidelity::flow) return false;
  if (!schedule.all_reduces) return network.is_star();
  return (*job.planned)(operation_of(schedule), job.profile.bytes()).times.in_lockstep();
}

FidelityChoice choose_fidelity(const Scenario& scenario, const Job& job, const Network& network) {
  if (job.ranks == 1) return {scenario.fidelity.value_or(Fidelity::alpha_beta), ""};
  if (!scenario.fidelity) {
    Job assumed = job;
    assumed.fidelity = Fidelity::per_message;
    return choose_unasked(scenario, assumed, network);
  }
  if (*scenario.fidelity != Fidelity::flow) return {*scenario.fidelity, ""};
  const double messages = count_messages(scenario, job, network);
  return require_feasible(messages, flow_seconds(scenario, job, network, messages));
}

CostLine fitted_line(const Job& job, const Network& network) {
  const Bytes bytes = job.profile.bytes();
  const Seconds without_bytes = (*job.planned)(Operation::all_reduce, Bytes(0)).times.from_equal_starts(Bytes(0));
  PlannedCollective& collective = (*job.planned)(Operation::all_reduce, bytes);
  Seconds all = collective.times.from_equal_starts(all_data(collective.plan, bytes));
  if (job.fidelity == Fidelity::flow) {
    Job once = job;
    once.profile =
        StepProfile{.layers = {}, .gradients = job.profile.gradients, .forward = Seconds(0), .backward = Seconds(0), .update = Seconds(0)};
    once.speed = Speed();
    once.latency_cv = 0.0;
    once.warmup = 0;
    once.measured = 1;
    once.steps_per_round = 0;
    once.shown_workers = 0;
    once.program = [payload = whole_model(job.profile)](Worker& worker) {
      while (worker.next_step()) {
        worker.wait(worker.post(payload, worker.step()));
      }
    };
    all = Seconds(std::stod(in_another_process([&] {
      const Timeline timeline = simulate({once}, network);
      const CollectiveSpan& span = timeline.front().collectives.front();
      return fmt::format("{}", (span.end - span.start).value);
    })));
  }
  return {without_bytes, SecondsPerByte((all - without_bytes).value / bytes.value)};
}

}  // namespace syncopate
