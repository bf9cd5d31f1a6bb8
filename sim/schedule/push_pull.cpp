#include "schedule/push_pull.hpp"

#include "schedule/posts.hpp"
#include "schedule/servers.hpp"

namespace syncopate {

namespace {

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

}  // namespace

Schedule read_push_pull(Object& fields, const Cluster& cluster, Answer answer) {
  Schedule schedule = read_server_schedule(fields, cluster);
  schedule.update = Seconds(0);
  schedule.make = [group = read_server_grouping(fields), answer](const ScheduleInput& input) { return push_pull(group, answer, input); };
  return schedule;
}

}  // namespace syncopate
