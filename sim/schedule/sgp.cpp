#include <bit>

#include "schedule/posts.hpp"
#include "schedule/readers.hpp"

namespace syncopate {

namespace {

/// M. Assran et al., "Stochastic gradient push for distributed deep learning", ICML'19, Algorithm 2 with one peer and an overlap
/// of one step: a rank sends its model at the start of a step, to another peer in every step, and mixes in what was sent to it
/// one step ago.
Program sgp(const ScheduleInput& input) {
  return [model = whole_model(input.profile), ranks = input.ranks](Worker& worker) {
    const auto peers = static_cast<int>(std::bit_width(static_cast<unsigned>(ranks) - 1U));
    while (worker.next_step()) {
      if (ranks > 1) worker.send(model, (worker.rank() + (1 << (worker.step() % peers))) % ranks, worker.step());
      worker.forward();
      worker.backward();
      worker.all_reduce_within_node(model);
      worker.update();
      if (ranks > 1 && worker.step() > 0) {
        worker.receive(worker.step() - 1);
        worker.apply(worker.step() - 1);
      }
    }
  };
}

}  // namespace

Schedule read_sgp(Object& fields, const Cluster& cluster) {
  require_star(fields, cluster);
  Schedule schedule;
  schedule.all_reduces = false;
  schedule.ranks = RankKind::node;
  schedule.waits_for_all = true;
  schedule.make = sgp;
  return schedule;
}

}  // namespace syncopate
