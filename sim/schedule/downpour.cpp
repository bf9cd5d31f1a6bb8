#include "schedule/servers.hpp"

namespace syncopate {

namespace {

/// Downpour SGD, as described in SASGD, Sec. II-A. After every `interval` local steps a learner pushes its accumulated gradient and pulls
/// the parameters.
struct Downpour : Learner {
  Traffic traffic() const {
    const auto handle = [](Replica& x, const Values& learned, const Values& /*seen*/, int /*clients*/) {
      x.become(x.model() - hyper::lr * learned);
    };
    return servers.traffic(true, {.handle = handle});
  }

  Program program(const ScheduleInput& input) const {
    return Learner::program(input, [](Worker& worker, const ServerPost& model, Sender& send, const Sum& learned) {
      const Exchange exchange = model.push(worker, worker.step(), Answer::own, {.value = send(worker, 0, [&] { return learned; })});
      worker.servers().wait(exchange);
      worker.spend(model.decode());
      worker.dataflow().replica().become(worker.servers().pulled_by(exchange));
    });
  }
};

}  // namespace

ScheduleRow downpour() {
  return declare_schedule<Downpour>("downpour", "after some local steps push what the gradients add up to, and pull",
                                    "J. Dean et al., \"Large scale distributed deep networks\", NIPS'12, Sec. 4.1");
}

}  // namespace syncopate
