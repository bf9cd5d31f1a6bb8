#include "schedule/schedule.hpp"

namespace syncopate {

Program single_worker(const Pace& pace, Seconds update) {
  return [counts_rounds = pace.steps_per_round > 0, every = pace.steps_per_update, update](Worker& worker) {
    while (worker.next_step()) {
      worker.forward();
      worker.backward();
      if (worker.step() % every == every - 1) worker.update_for(update);
      if (counts_rounds) worker.begin_round();
    }
  };
}

}  // namespace syncopate
