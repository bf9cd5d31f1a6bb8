#include "study/cost.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace syncopate {

Seconds estimate_cost(const Scenario& scenario) {
  constexpr Seconds of_start(2e-4);
  constexpr Seconds of_post(2.5e-8);          // by each of unequal workers
  constexpr Seconds of_rank_of_ring(4.5e-8);  // of equal ones
  constexpr Seconds of_server_message(5e-7);
  const Cluster& cluster = scenario.cluster;
  const Schedule& schedule = scenario.schedule;
  const double ranks = schedule.traffic.ranks == RankKind::node ? cluster.nodes : cluster.workers();
  const double steps =
      (schedule.pace.steps_before_warmup + scenario.warmup + scenario.measured) * std::max(1, schedule.pace.steps_per_round);
  const bool are_one = scenario.speed.uniform() && schedule.pace.waits_for_all;
  const double posts = static_cast<double>(scenario.trace->gradients.size()) * (are_one ? 1.0 : steps);
  if (schedule.traffic.servers) return of_start + steps * posts * 2.0 * ranks * of_server_message;
  const bool as_flows = scenario.fidelity ? scenario.fidelity == Fidelity::flow : !cluster.is_star() && !cluster.fit;
  if (as_flows) return of_start + posts * 2.0 * ranks * ranks * std::max(cost_of_flow, ranks * cost_of_contended_flow_by_rank);
  return of_start + posts * ranks * (are_one ? of_rank_of_ring : of_post);
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
