#include "schedule/posts.hpp"
#include "schedule/readers.hpp"
#include "schedule/servers.hpp"

namespace syncopate {

namespace {

/// Downpour SGD, J. Dean et al., "Large scale distributed deep networks", NIPS'12, Sec. 4.1; SASGD, Sec. II-A: after every
/// `interval` local steps a learner pushes what its gradients add up to and pulls the parameters. Learners do not wait for
/// each other.
Program downpour(int interval, const ScheduleInput& input) {
  return [model = whole_model(input.profile), interval](Worker& worker) {
    while (worker.next_step()) {
      worker.forward();
      worker.backward();
      worker.update();
      if (worker.step() % interval == interval - 1) worker.wait(worker.push(model, worker.step(), Answer::own));
    }
  };
}

}  // namespace

Schedule read_downpour(Object& fields, const Cluster& cluster) { return read_learners(fields, cluster, downpour); }

}  // namespace syncopate
