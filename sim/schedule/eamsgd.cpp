#include "schedule/servers.hpp"

namespace syncopate {

namespace {

/// Elastic averaging. A learner pulls the centre, moves towards it, and pushes the difference, which moves the centre.
struct Eamsgd : Learner {
  Traffic traffic() const {
    const auto handle = [](Replica& centre, const Values& difference, const Values& /*seen*/, int /*clients*/) {
      centre.become(centre.model() + difference);
    };
    return servers.traffic(true, {.handle = handle});
  }

  Program program(const ScheduleInput& input) const {
    return Learner::program(input, [](Worker& worker, const ServerPost& model, Sender& send, const Sum& /*learned*/) {
      const Exchange pull = model.pull(worker, worker.step());
      worker.servers().wait(pull);
      worker.spend(model.decode());
      Replica& x = worker.dataflow().replica();
      const Sum distance = x.model() - worker.servers().pulled_by(pull);
      const Values difference = send(worker, 0, [&] { return hyper::rho * distance; });
      x.become(x.model() - difference);
      worker.servers().wait(model.push(worker, worker.step(), Answer::none, {.value = difference}));
    });
  }
};

}  // namespace

ScheduleRow eamsgd() {
  return declare_schedule<Eamsgd>("eamsgd", "after some local steps pull the centre, push the elastic difference",
                                  "S. Zhang et al., \"Deep learning with elastic averaging SGD\", NIPS'15, Algorithm 2");
}

}  // namespace syncopate
