#include "schedule/schedule.hpp"
#include "schedule/sender.hpp"

namespace syncopate {

Program single_worker(const Pace& pace, Seconds update) {
  return [counts_rounds = pace.steps_per_round > 0, every = pace.steps_per_update, update](Worker& worker) {
    GradientSum mean(worker, 1.0 / every);
    while (worker.next_step()) {
      worker.forward();
      worker.backward();
      mean();
      if (worker.step() % every == every - 1) {
        worker.update_for(update);
        worker.dataflow().replica().step(mean());
        mean.clear();
      }
      if (counts_rounds) worker.begin_round();
    }
  };
}

}  // namespace syncopate
