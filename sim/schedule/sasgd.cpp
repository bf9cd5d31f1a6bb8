#include "schedule/posts.hpp"
#include "schedule/readers.hpp"

namespace syncopate {

namespace {

/// G. Cong, O. Bhardwaj and M. Feng, "An efficient, distributed stochastic gradient descent algorithm for deep-learning
/// applications" (SASGD), ICPP'17: after every `interval` local steps the learners all-reduce what their gradients have added up
/// to, and wait for it. Local SGD averages models instead, in the same time.
Program sasgd(int interval, const ScheduleInput& input) {
  return [model = whole_model(input.profile), interval](Worker& worker) {
    while (worker.next_step()) {
      worker.forward();
      worker.backward();
      if (worker.step() % interval == interval - 1) {
        worker.wait(worker.post(model, worker.step()));
        worker.apply(worker.step());
      }
      worker.update();
    }
  };
}

}  // namespace

Schedule read_sasgd(Object& fields, const Cluster& /*cluster*/) {
  Schedule schedule;
  schedule.waits_for_all = true;
  schedule.cycle = read_steps(fields.at("interval"));
  schedule.make = [interval = schedule.cycle](const ScheduleInput& input) { return sasgd(interval, input); };
  return schedule;
}

}  // namespace syncopate
