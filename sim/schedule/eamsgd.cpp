#include "schedule/posts.hpp"
#include "schedule/readers.hpp"
#include "schedule/servers.hpp"

namespace syncopate {

namespace {

/// EAMSGD, S. Zhang et al., "Deep learning with elastic averaging SGD", NIPS'15, Algorithm 2: the learner pulls the centre, moves
/// towards it, and pushes the difference, which moves the centre.
Program eamsgd(int interval, const ScheduleInput& input) {
  return [model = whole_model(input.profile), interval](Worker& worker) {
    while (worker.next_step()) {
      worker.forward();
      worker.backward();
      worker.update();
      if (worker.step() % interval != interval - 1) continue;
      worker.wait(worker.pull(model, worker.step()));
      worker.wait(worker.push(model, worker.step(), Answer::none));
    }
  };
}

}  // namespace

Schedule read_eamsgd(Object& fields, const Cluster& cluster) { return read_learners(fields, cluster, eamsgd); }

}  // namespace syncopate
