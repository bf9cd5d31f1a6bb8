#include "schedule/push_pull.hpp"
#include "schedule/readers.hpp"

namespace syncopate {

/// Asynchronous SGD over parameter servers, J. Dean et al., "Large scale distributed deep networks", NIPS'12, tensor by tensor: a server
/// answers every worker's push at once.
Schedule read_asgd(Object& fields, const Cluster& cluster) {
  Schedule schedule = read_push_pull(fields, cluster, Answer::own);
  schedule.servers->asynchronous = true;
  return schedule;
}

}  // namespace syncopate
