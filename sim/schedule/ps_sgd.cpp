#include "schedule/servers.hpp"

namespace syncopate {

/// Synchronous SGD over parameter servers. A tensor is pulled when the pushes of all workers have been added up.
ScheduleRow ps_sgd() {
  return declare_schedule("ps-sgd", "parameter servers: push each gradient, pull the sum of all workers' pushes",
                          "M. Li et al., \"Scaling distributed machine learning with the parameter server\", OSDI'14",
                          PushPull{.answer = Answer::all, .rule = synchronous_rule});
}

}  // namespace syncopate
