#include <array>

#include "base/choice.hpp"
#include "schedule/posts.hpp"
#include "schedule/readers.hpp"

namespace syncopate {

namespace {

/// T. Avidor and N. Tal Israel, "Locally asynchronous stochastic gradient descent for decentralised deep learning" (LASGD), 2022: while the
/// model is being all-reduced, a rank makes local steps, one at least and tau_max at most; then it mixes the result in and posts the next
/// round. All ranks run the same number of rounds, each of as many steps as it finds time for. WLASGD: every GPU is a rank.
Program lasgd(int tau_max, const ScheduleInput& input) {
  return [model = whole_model(input.profile), tau_max, alone = input.ranks == 1](Worker& worker) {
    int round = 0;
    int posted = 0;
    Handle all_reduce = 0;
    while (worker.next_step()) {
      worker.forward();
      worker.backward();
      worker.all_reduce_within_node(model);
      worker.update();
      if (alone) {
        worker.begin_round();
        continue;
      }
      if (round > 0) {
        const int local_steps = worker.step() - posted;
        if (local_steps < tau_max && !worker.has_ended(all_reduce)) continue;
        worker.wait(all_reduce);
        worker.mix(posted);
      }
      worker.begin_round();
      all_reduce = worker.post(model, round++);
      posted = worker.step();
    }
  };
}

struct WorkerRow {
  std::string_view name;
  RankKind kind;
};
constexpr std::array worker_rows = {WorkerRow{"node", RankKind::node}, WorkerRow{"gpu", RankKind::gpu}};

}  // namespace

Schedule read_lasgd(Object& fields, const Cluster& /*cluster*/) {
  Schedule schedule;
  schedule.waits_for_all = true;
  schedule.steps_per_round = read_steps(fields.at("tau_max"));
  const auto worker = fields.find("worker");
  schedule.ranks = worker ? choose<WorkerRow>(*worker, worker_rows).kind : RankKind::node;
  if (const auto participants = fields.find("participants")) schedule.stream.participants = participants->positive(1.0);
  schedule.make = [tau_max = schedule.steps_per_round](const ScheduleInput& input) { return lasgd(tau_max, input); };
  return schedule;
}

}  // namespace syncopate
