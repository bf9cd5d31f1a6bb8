#include "schedule/servers.hpp"

namespace syncopate {

/// Asynchronous SGD over parameter servers, tensor by tensor. A server answers every worker's push at once.
ScheduleRow asgd() {
  const auto handle = [](Replica& x, const Values& gradient, const Values& /*seen*/, int workers) { x.step(gradient / workers); };
  return declare_schedule("asgd", "parameter servers that answer each worker's push at once",
                          "J. Dean et al., \"Large scale distributed deep networks\", NIPS'12",
                          PushPull{.answer = Answer::own, .rule = {.handle = handle}});
}

/// The server compensates for delays with the model that the worker used. The timing is asgd's, except for the server's work.
ScheduleRow dc_asgd() {
  const auto handle = [](Replica& x, const Values& gradient, const Values& seen, int workers) {
    x.compensated_step(gradient / workers, seen);
  };
  return declare_schedule("dc-asgd", "as asgd; the servers compensate for the delay",
                          "S. Zheng et al., \"Asynchronous stochastic gradient descent with delay compensation\", ICML'17",
                          PushPull{.answer = Answer::own, .rule = {.handle = handle}});
}

}  // namespace syncopate
