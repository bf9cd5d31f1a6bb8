#include "schedule/push_pull.hpp"
#include "schedule/readers.hpp"

namespace syncopate {

/// Synchronous SGD over parameter servers, M. Li et al., "Scaling distributed machine learning with the parameter server", OSDI'14:
/// a tensor is pulled once the pushes of all workers have been added up.
Schedule read_ps_sgd(Object& fields, const Cluster& cluster) {
  Schedule schedule = read_push_pull(fields, cluster, Answer::all);
  schedule.waits_for_all = true;
  return schedule;
}

}  // namespace syncopate
