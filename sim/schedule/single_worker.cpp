#include "schedule/schedule.hpp"

namespace syncopate {

Program single_worker(bool counts_rounds) {
  return [counts_rounds](Worker& worker) {
    while (worker.next_step()) {
      worker.forward();
      worker.backward();
      worker.update();
      if (counts_rounds) worker.begin_round();
    }
  };
}

}  // namespace syncopate
