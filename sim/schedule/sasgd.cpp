#include "schedule/compression.hpp"
#include "schedule/posts.hpp"
#include "schedule/schedule.hpp"

namespace syncopate {

namespace {

/// After every `interval` local steps the learners all-reduce what their gradients have added up to, and wait for it. Local SGD averages
/// models instead, in the same time.
struct Sasgd {
  int interval = 1;
  Compression compression{};

  void declare(Parameters& parameters) {
    parameters.required("interval", interval, step_range, "local steps between all-reduces");
    compression.declare(parameters);
  }
  Traffic traffic() const { return all_reduces({}, compression.operation); }
  Pace pace() const { return {.cycle = interval, .waits_for_all = true, .is_lossy = !compression.is_none()}; }
  double posts(const StepProfile& /*profile*/) const { return 1.0 / interval; }

  Program program(const ScheduleInput& input) const {
    return [send = CompressedPost(compression, whole_model(input.profile), input), interval = interval](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.backward();
        if (worker.step() % interval == interval - 1) {
          worker.wait(send(worker, worker.step()));
          worker.spend(send.decode);
          worker.apply(worker.step());
        }
        worker.update();
      }
    };
  }
};

}  // namespace

ScheduleRow sasgd() {
  return declare_schedule<Sasgd>("sasgd", "after some local steps a blocking all-reduce of the accumulated gradient",
                                 "G. Cong, O. Bhardwaj and M. Feng, \"An efficient, distributed stochastic gradient descent algorithm for "
                                 "deep-learning applications\", ICPP'17");
}

ScheduleRow local_sgd() {
  return declare_schedule<Sasgd>("local-sgd", "the same, averaging models",
                                 "S. Stich, \"Local SGD converges fast and communicates little\", ICLR'19");
}

}  // namespace syncopate
