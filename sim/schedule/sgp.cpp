#include <bit>

#include "schedule/posts.hpp"
#include "schedule/schedule.hpp"
#include "schedule/within_node.hpp"

namespace syncopate {

namespace {

/// Algorithm 2 with one peer and an overlap of one step: a rank sends its model at the start of a step, to another peer in every step,
/// and mixes in what was sent to it one step ago.
struct Sgp {
  WithinNode within_node{};

  static int period(int ranks) { return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks) - 1U)); }
  static int peer(int rank, int step, int ranks) { return (rank + (1 << (step % period(ranks)))) % ranks; }

  void declare(Parameters& parameters) { within_node.declare(parameters); }
  static Traffic traffic() { return {.ranks = RankKind::node, .peers = PeerTraffic{peer, period}}; }
  static Pace pace() { return {.waits_for_all = true}; }

  Program program(const ScheduleInput& input) const {
    return [model = whole_model(input.profile), backward = WithinNode::Backward(within_node, input.profile),
            ranks = input.ranks](Worker& worker) {
      while (worker.next_step()) {
        if (ranks > 1) worker.send(model, peer(worker.rank(), worker.step(), ranks), worker.step());
        worker.forward();
        backward(worker);
        worker.update();
        if (ranks > 1 && worker.step() > 0) {
          worker.receive(worker.step() - 1);
          worker.apply(worker.step() - 1);
        }
      }
    };
  }
};

}  // namespace

ScheduleRow sgp() {
  return declare_schedule<Sgp>("sgp", "stochastic gradient push: the model to one peer per step, overlapped",
                               "M. Assran et al., \"Stochastic gradient push for distributed deep learning\", ICML'19, Algorithm 2");
}

}  // namespace syncopate
