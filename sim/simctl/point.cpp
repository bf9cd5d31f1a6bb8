#include "simctl/point.hpp"

#include <cstring>
#include <type_traits>

#include "base/errors.hpp"
#include "engine/simulate.hpp"
#include "metrics/metrics.hpp"
#include "output/timeline_json.hpp"

namespace syncopate {

namespace {

struct Head {
  Metrics metrics;
  int workers_simulated = 0;
};
static_assert(std::is_trivially_copyable_v<Head>);

}  // namespace

std::string PointResult::pack() const {
  const Head head = {metrics, workers_simulated};
  std::string bytes(sizeof head, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes + timeline;
}

PointResult PointResult::unpack(const std::string& bytes) {
  Head head;
  if (bytes.size() < sizeof head) throw SimulationError("its process sent an incomplete result");
  std::memcpy(&head, bytes.data(), sizeof head);
  return {head.metrics, head.workers_simulated, bytes.substr(sizeof head)};
}

PointResult simulate_point(const Point& point, const PointOptions& options) {
  const Scenario& scenario = point.scenario;
  Job job;
  job.profile = step_profile(*scenario.trace, scenario.granularity);
  job.speed = scenario.speed;
  job.all_reduce = scenario.all_reduce_cost;
  job.ranks = scenario.cluster.workers();
  job.program = scenario.schedule.make({job.profile, job.all_reduce, job.ranks});
  job.warmup = scenario.warmup;
  job.measured = scenario.measured;
  job.lockstep = options.shortcuts && scenario.schedule.waits_for_all && scenario.speed.uniform();
  job.run_ahead = options.shortcuts;
  job.shown_workers = options.shown_workers;

  const Timeline timeline = simulate(scenario.cluster, {job});
  PointResult result;
  result.metrics = measure(timeline.front(), scenario.trace->batch);
  result.workers_simulated = static_cast<int>(timeline.front().steps.size());
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
  row.all_reduce = scenario.all_reduce->name;
  row.fidelity = "alpha-beta";
  row.nodes = scenario.cluster.nodes;
  row.workers = scenario.cluster.workers();
  row.batch = scenario.trace->batch;
  row.metrics = result.metrics;
  row.measured_iterations = scenario.measured;
  row.workers_simulated = result.workers_simulated;
  return row;
}

}  // namespace syncopate
