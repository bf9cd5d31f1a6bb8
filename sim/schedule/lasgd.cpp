#include "schedule/posts.hpp"
#include "schedule/schedule.hpp"

namespace syncopate {

namespace {

/// While the model is being all-reduced, a rank makes local steps, one at least and tau_max at most; then it mixes the result in and posts
/// the next round. All ranks run the same number of rounds, each of as many steps as it finds time for. WLASGD: every GPU is a rank.
struct Lasgd {
  int tau_max = 1;
  RankKind ranks = RankKind::node;
  double participants = 1.0;

  void declare(Parameters& parameters) {
    parameters.required("tau_max", tau_max, step_range, "local steps of a round at most");
    parameters.optional("worker", ranks, {{"node", RankKind::node}, {"gpu", RankKind::gpu}}, "who is a rank (gpu: WLASGD)");
    parameters.optional("participants", participants, {0.0, 1.0, true}, "share of the ranks that an all-reduce waits for");
  }

  Traffic traffic() const {
    Traffic traffic = all_reduces({.participants = participants});
    traffic.ranks = ranks;
    return traffic;
  }
  Pace pace() const { return {.steps_per_round = tau_max, .waits_for_all = true}; }

  Program program(const ScheduleInput& input) const {
    return [model = whole_model(input.profile), tau_max = tau_max, alone = input.ranks == 1](Worker& worker) {
      int round = 0;
      int posted = 0;
      Handle all_reduce;
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
};

}  // namespace

ScheduleRow lasgd() {
  return declare_schedule<Lasgd>("lasgd", "local steps while the model is being all-reduced",
                                 "T. Avidor and N. Tal Israel, \"Locally asynchronous stochastic gradient descent for decentralised deep "
                                 "learning\", 2022");
}

}  // namespace syncopate
