#include "schedule/servers.hpp"

namespace syncopate {

namespace {

/// Downpour SGD; SASGD, Sec. II-A: after every `interval` local steps a learner pushes what its gradients add up to and pulls the
/// parameters.
struct Downpour : Learner {
  Program program(const ScheduleInput& input) const {
    return Learner::program(input, [](Worker& worker, const ServerPost& model) {
      worker.wait(model.push(worker, worker.step(), Answer::own));
      worker.spend(model.decode());
    });
  }
};

}  // namespace

ScheduleRow downpour() {
  return declare_schedule<Downpour>("downpour", "after some local steps push what the gradients add up to, and pull",
                                    "J. Dean et al., \"Large scale distributed deep networks\", NIPS'12, Sec. 4.1");
}

}  // namespace syncopate
