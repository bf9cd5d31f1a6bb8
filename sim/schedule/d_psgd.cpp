#include <algorithm>
#include <vector>

#include "schedule/posts.hpp"
#include "schedule/schedule.hpp"
#include "schedule/within_node.hpp"

namespace syncopate {

namespace {

/// Decentralised SGD on a ring. While a rank computes its gradient, it exchanges models with its two neighbours. Then it averages the
/// models and applies the gradient.
struct DPsgd {
  WithinNode within_node{};

  /// Messages that a rank sends per step: two, or one if there are only two ranks.
  static int period(int ranks) { return std::min(2, ranks - 1); }
  static int peer(int rank, int message, int ranks) { return (rank + (message % period(ranks) == 0 ? 1 : ranks - 1)) % ranks; }

  void declare(Parameters& parameters) { within_node.declare(parameters); }
  static Traffic traffic() { return {.ranks = RankKind::node, .peers = PeerTraffic{peer, period}}; }
  static Pace pace() { return {.waits_for_all = true}; }

  Program program(const ScheduleInput& input) const {
    return [model = whole_model(input.profile), backward = WithinNode::Backward(within_node, input.profile),
            ranks = input.ranks](Worker& worker) {
      const int messages = ranks > 1 ? period(ranks) : 0;
      while (worker.next_step()) {
        const int first = worker.step() * messages;
        Replica& x = worker.dataflow().replica();
        std::vector<Values> models = {x.model()};
        for (int i = 0; i < messages; ++i) worker.peers().send(model, peer(worker.rank(), i, ranks), first + i, x.model());
        worker.forward();
        backward(worker);
        for (int i = 0; i < messages; ++i) models.push_back(worker.peers().receive(first + i).model);
        if (messages > 0) worker.apply(worker.step());
        worker.update();
        x.become(mean(models));
        x.step(worker.dataflow().gradient());
      }
    };
  }
};

}  // namespace

ScheduleRow d_psgd() {
  return declare_schedule<DPsgd>(
      "d-psgd", "decentralised: models to both neighbours on a ring while the gradient is computed",
      "X. Lian et al., \"Can decentralized algorithms outperform centralized algorithms?\", NIPS'17, Algorithm 1");
}

}  // namespace syncopate
