#include "study/cost.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace syncopate {

namespace {

double ranks_of(const Scenario& scenario) {
  const Cluster& cluster = scenario.cluster;
  return scenario.schedule.traffic.ranks == RankKind::node ? cluster.nodes : cluster.workers();
}

double steps_of(const Scenario& scenario) {
  const Pace& pace = scenario.schedule.pace;
  return (pace.steps_before_warmup + scenario.warmup + scenario.measured) * std::max(1, pace.steps_per_round);
}

/// One worker may stand for all.
bool are_equal(const Scenario& scenario) { return scenario.speed.uniform() && scenario.schedule.pace.waits_for_all; }

bool moves_flows(const Scenario& scenario) {
  const Cluster& cluster = scenario.cluster;
  return scenario.fidelity ? scenario.fidelity == Fidelity::flow : !cluster.is_star() && !cluster.fit;
}

/// Of the busiest links' use, in a step of so many messages of each worker: a link that all workers' messages cross changes with each of
/// them, and those that collectives cross are mostly used alike.
double changes_of_link_use(const Scenario& scenario, int simulated, double messages) {
  const Traffic& traffic = scenario.schedule.traffic;
  if (scenario.fidelity == Fidelity::alpha_beta) return 0.0;
  if ((traffic.servers || traffic.peers) && simulated > TimelineView::most_in_full) return 0.0;
  return traffic.servers ? simulated * messages : messages;
}

}  // namespace

Seconds estimate_cost(const Scenario& scenario) {
  constexpr Seconds of_start(2e-4);
  constexpr Seconds of_post(2.5e-8);          // by each of unequal workers
  constexpr Seconds of_rank_of_ring(4.5e-8);  // of equal ones
  constexpr Seconds of_server_message(5e-7);
  const double ranks = ranks_of(scenario);
  const double steps = steps_of(scenario);
  const double posts = static_cast<double>(scenario.trace->gradients.size()) * (are_equal(scenario) ? 1.0 : steps);
  if (scenario.schedule.traffic.servers) return of_start + steps * posts * 2.0 * ranks * of_server_message;
  if (moves_flows(scenario)) return of_start + posts * 2.0 * ranks * ranks * std::max(cost_of_flow, ranks * cost_of_contended_flow_by_rank);
  return of_start + posts * ranks * (are_equal(scenario) ? of_rank_of_ring : of_post);
}

Bytes estimate_timeline(const Scenario& scenario, const TimelineView& view, bool shortcuts) {
  constexpr Bytes of_slice(165);
  constexpr Bytes of_arrow(190);
  constexpr Bytes of_change(110);
  constexpr double compressed = 0.1;
  const double ranks = ranks_of(scenario);
  const bool is_one = shortcuts && are_equal(scenario) && !moves_flows(scenario);
  const int simulated = is_one ? 1 : static_cast<int>(ranks);
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
