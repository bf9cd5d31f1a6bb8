#include "schedule/posts.hpp"
#include "schedule/readers.hpp"
#include "schedule/servers.hpp"

namespace syncopate {

namespace {

// Both push every group of gradients as soon as it is ready, and end a step when all pulls are in; MG-WFBP, Sec. 4.3, merges
// gradients for a server as it does for an all-reduce.
Program push_pull(const GroupingFunction& group, Answer answer, const ScheduleInput& input) {
  return [groups = group_posts(group(input.profile, input.push_pull), input.profile), answer](Worker& worker) {
    std::vector<Exchange> exchanges;
    while (worker.next_step()) {
      worker.forward();
      exchanges.clear();
      for (const GroupPost& next : groups) {
        worker.backward_until(next.post_at);
        exchanges.push_back(worker.push(next.payload, worker.step(), answer));
      }
      worker.backward();
      worker.wait(exchanges);
      if (answer == Answer::all) worker.apply(worker.step());
    }
  };
}

Schedule read_push_pull(Object& fields, const Cluster& cluster, Answer answer) {
  Schedule schedule;
  schedule.servers = read_servers(fields, cluster);
  schedule.all_reduces = false;
  schedule.ranks = RankKind::node;
  schedule.update = Seconds(0);  // servers update
  schedule.make = [group = read_server_grouping(fields), answer](const ScheduleInput& input) { return push_pull(group, answer, input); };
  return schedule;
}

}  // namespace

/// Synchronous SGD over parameter servers (M. Li et al., OSDI'14): a tensor is pulled once the pushes of all workers have been
/// added up.
Schedule read_ps_sgd(Object& fields, const Cluster& cluster) {
  Schedule schedule = read_push_pull(fields, cluster, Answer::all);
  schedule.waits_for_all = true;
  return schedule;
}

/// Asynchronous SGD over parameter servers (J. Dean et al., NIPS'12): a server answers every worker's push at once.
Schedule read_asgd(Object& fields, const Cluster& cluster) {
  Schedule schedule = read_push_pull(fields, cluster, Answer::own);
  schedule.servers->asynchronous = true;
  return schedule;
}

}  // namespace syncopate
