#include <algorithm>
#include <vector>

#include "schedule/posts.hpp"
#include "schedule/schedule.hpp"
#include "schedule/within_node.hpp"

namespace syncopate {

namespace {

/// Asynchronous decentralised SGD. In every step, a node of even rank (active) averages its model with a node of odd rank (passive) while
/// it computes its gradient. Passive nodes only answer, so there is no circular wait (Sec. 4.2).
struct AdPsgd {
  WithinNode within_node{};
  bool anybody = false;

  void declare(Parameters& parameters) {
    parameters.optional("peers", anybody, {{"ring", false}, {"all", true}},
                        "passive nodes that an active node draws from: its neighbours, or all");
    within_node.declare(parameters);
  }
  static Traffic traffic() { return {.ranks = RankKind::node, .peers = PeerTraffic{.drawn = true}}; }
  static Pace pace() { return {}; }

  /// The passive ranks that an active rank draws from.
  std::vector<int> passive(int rank, int ranks) const {
    std::vector<int> found;
    for (int neighbour = 1; neighbour < ranks; neighbour += 2) {
      const bool is_beside = neighbour == rank + 1 || neighbour == rank - 1 || (rank == 0 && neighbour == ranks - 1);
      if (anybody || is_beside) found.push_back(neighbour);
    }
    return found;
  }

  Program program(const ScheduleInput& input) const {
    return [self = *this, model = whole_model(input.profile), backward = WithinNode::Backward(within_node, input.profile),
            ranks = input.ranks](Worker& worker) {
      const bool is_active = ranks > 1 && worker.rank() % 2 == 0;
      const std::vector<int> passive = is_active ? self.passive(worker.rank(), ranks) : std::vector<int>();
      Replica& x = worker.dataflow().replica();
      while (worker.next_step()) {
        const Values sent = x.model();
        if (is_active) {
          const auto drawn = static_cast<std::size_t>(worker.draw() * static_cast<double>(passive.size()));
          worker.peers().exchange(model, passive[drawn], worker.step(), sent);
        }
        worker.forward();
        backward(worker);
        if (is_active) {
          const Received answer = worker.peers().receive(worker.step());
          worker.apply(std::min(worker.step(), answer.step));
          x.become(mean({sent, answer.model}));
        }
        worker.update();
        x.step(worker.dataflow().gradient());
      }
    };
  }
};

}  // namespace

ScheduleRow ad_psgd() {
  return declare_schedule<AdPsgd>(
      "ad-psgd", "decentralised, asynchronous: half of the nodes average with one of the others in every step",
      "X. Lian et al., \"Asynchronous decentralized parallel stochastic gradient descent\", ICML'18, Algorithm 1");
}

}  // namespace syncopate
