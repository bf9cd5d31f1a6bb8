#include "schedule/servers.hpp"

namespace syncopate {

namespace {

/// Elastic averaging: the learner pulls the centre, moves towards it, and pushes the difference, which moves the centre.
struct Eamsgd : Learner {
  Program program(const ScheduleInput& input) const {
    return Learner::program(input, [](Worker& worker, const ServerPost& model) {
      worker.wait(model.pull(worker, worker.step()));
      worker.spend(model.decode());
      worker.wait(model.push(worker, worker.step(), Answer::none));
    });
  }
};

}  // namespace

ScheduleRow eamsgd() {
  return declare_schedule<Eamsgd>("eamsgd", "after some local steps pull the centre, push the elastic difference",
                                  "S. Zhang et al., \"Deep learning with elastic averaging SGD\", NIPS'15, Algorithm 2");
}

}  // namespace syncopate
