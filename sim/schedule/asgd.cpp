#include "schedule/servers.hpp"

namespace syncopate {

/// Asynchronous SGD over parameter servers, tensor by tensor: a server answers every worker's push at once.
ScheduleRow asgd() {
  return declare_schedule("asgd", "parameter servers that answer each worker's push at once",
                          "J. Dean et al., \"Large scale distributed deep networks\", NIPS'12", PushPull{.answer = Answer::own});
}

}  // namespace syncopate
