#include "schedule/schedule.hpp"

namespace syncopate {

Program single_worker(const Pace& pace, Seconds update) {
  return [counts_rounds = pace.steps_per_round > 0, every = pace.steps_per_update, update](Worker& worker) {
    Sum accumulated;
    while (worker.next_step()) {
      worker.forward();
      worker.backward();
      accumulated += worker.gradient();
      if (worker.step() % every == every - 1) {
        worker.update_for(update);
        worker.replica().step(accumulated / every);
        accumulated = Sum();
      }
      if (counts_rounds) worker.begin_round();
    }
  };
}

}  // namespace syncopate
