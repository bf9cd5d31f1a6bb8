#include "schedule/compression.hpp"
#include "schedule/posts.hpp"
#include "schedule/schedule.hpp"
#include "schedule/sender.hpp"

namespace syncopate {

namespace {

/// After every `interval` local steps the learners all-reduce their accumulated gradients and wait for the result. Local SGD averages
/// models instead, which takes the same time.
struct Sasgd {
  bool averages_models = false;
  int interval = 1;
  Compression compression{};

  void declare(Parameters& parameters) {
    parameters.required("interval", interval, step_range, "local steps between all-reduces", 50);  // Sec. IV
    compression.declare(parameters);
  }
  std::string unrecorded() const { return compression.unrecorded(); }
  Traffic traffic() const { return all_reduces({}, compression.operation); }
  Pace pace() const { return {.cycle = interval, .waits_for_all = true, .is_lossy = !compression.is_none()}; }
  double posts(const StepProfile& /*profile*/) const { return 1.0 / interval; }

  Program program(const ScheduleInput& input) const {
    return [p = *this, post = CompressedPost(compression, whole_model(input.profile), input), ranks = input.ranks](Worker& worker) {
      Sender send(p.compression, 1);
      Replica& x = worker.dataflow().replica();
      Values before = x.model();  // the model after the last exchange, equal on all ranks
      Sum base;                   // `before` if differences of models are sent, else empty
      if (!p.compression.is_none()) base = before;
      Sum learned;
      while (worker.next_step()) {
        worker.forward();
        worker.backward();
        const bool exchanges = worker.step() % p.interval == p.interval - 1;
        if (p.averages_models || !exchanges) x.step(worker.dataflow().gradient());
        if (!p.averages_models) learned += worker.dataflow().gradient();
        if (exchanges) {
          if (p.averages_models) learned = x.model() - base;
          const Handle all_reduce = post(worker, worker.step(), send(worker, 0, [&] { return learned; }));
          worker.collectives().wait(all_reduce);
          worker.spend(post.decode);
          worker.apply(worker.step());
          const Values mean = worker.collectives().mean_of(all_reduce);
          x.become(p.averages_models ? base + mean : before - hyper::gamma_p * (ranks * mean));
          before = x.model();
          if (!p.compression.is_none()) base = before;
          learned = Sum();
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
  return declare_schedule<Sasgd>("local-sgd", "as sasgd, averaging models",
                                 "S. Stich, \"Local SGD converges fast and communicates little\", ICLR'19", Sasgd{.averages_models = true});
}

}  // namespace syncopate
