#include "schedule/synchronous.hpp"

#include "schedule/posts.hpp"

namespace syncopate {

namespace {

Program all_reduce_groups(const Grouping& grouping, const StepProfile& profile) {
  return [groups = group_posts(grouping, profile)](Worker& worker) {
    std::vector<Handle> posted;
    while (worker.next_step()) {
      worker.forward();
      posted.clear();
      for (const GroupPost& next : groups) {
        worker.backward_until(next.post_at);
        posted.push_back(worker.post(next.payload, worker.step()));
      }
      worker.backward();
      worker.wait(posted);
      worker.apply(worker.step());
      worker.update();
    }
  };
}

}  // namespace

ScheduleRow synchronous(const GroupingRow& grouping) {
  const auto read = [grouping](Object& fields, const Cluster& /*cluster*/) {
    Schedule schedule = {.traffic = all_reduces(), .pace = {.waits_for_all = true}, .groups_by_cost = grouping.by_cost};
    schedule.program = [group = grouping.read(fields)](const ScheduleInput& input) {
      return all_reduce_groups(group(input.profile, input.all_reduce), input.profile);
    };
    return schedule;
  };
  return {grouping.name, grouping.meaning, grouping.paper, grouping.parameters, read};
}

}  // namespace syncopate
