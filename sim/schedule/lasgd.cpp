#include "schedule/compression.hpp"
#include "schedule/posts.hpp"
#include "schedule/schedule.hpp"
#include "schedule/within_node.hpp"

namespace syncopate {

namespace {

/// While the model is being all-reduced, a rank makes local steps: at least one, at most tau_max. Then it mixes the result into its model
/// and posts the next round. All ranks run the same number of rounds, but a slow rank makes fewer steps per round. WLASGD: every GPU is a
/// rank.
struct Lasgd {
  int tau_max = 1;
  RankKind ranks = RankKind::node;
  double participants = 1.0;
  WithinNode within_node{};
  Compression compression{};

  void declare(Parameters& parameters) {
    parameters.required("tau_max", tau_max, step_range, "maximum number of local steps in a round", 1);  // Sec. 5
    parameters.optional("worker", ranks, {{"node", RankKind::node}, {"gpu", RankKind::gpu}}, "what a rank is: a node, or a GPU (WLASGD)");
    parameters.optional("participants", participants, {0.0, 1.0, true}, "share of the ranks that an all-reduce waits for");
    within_node.declare(parameters);
    compression.declare(parameters);
  }

  std::string unrecorded() const { return compression.is_none() ? "" : "no paper says what compressing lasgd's models does to them"; }
  Traffic traffic() const {
    Traffic traffic = all_reduces({.participants = participants}, compression.operation);
    traffic.ranks = ranks;
    return traffic;
  }
  Pace pace() const {
    return {.steps_per_round = tau_max, .waits_for_all = true, .may_lose_ranks = participants < 1.0, .is_lossy = !compression.is_none()};
  }

  Program program(const ScheduleInput& input) const {
    return [send = CompressedPost(compression, whole_model(input.profile), input),
            backward = WithinNode::Backward(within_node, input.profile), tau_max = tau_max, alone = input.ranks == 1](Worker& worker) {
      int round = 0;
      int posted = 0;
      Handle all_reduce;
      Replica& x = worker.dataflow().replica();
      Values sent;
      while (worker.next_step()) {
        worker.forward();
        backward(worker);
        worker.update();
        x.step(worker.dataflow().gradient());
        if (alone) {
          worker.begin_round();
          continue;
        }
        if (round > 0) {
          const int local_steps = worker.step() - posted;
          const bool has_ended = worker.collectives().has_ended(all_reduce);
          if (local_steps < tau_max && !has_ended) continue;
          worker.collectives().wait(all_reduce);
          worker.spend(send.decode);
          worker.mix(posted, !has_ended);
          x.become(worker.collectives().mean_of(all_reduce) + (x.model() - sent));
        }
        worker.spend(send.encode);
        worker.begin_round();
        all_reduce = worker.collectives().post(send.payload, round++, {.operation = send.operation, .value = x.model()});
        posted = worker.step();
        sent = x.model();
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
