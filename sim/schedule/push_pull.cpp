#include "schedule/servers.hpp"

namespace syncopate {

void PushPull::declare(Parameters& parameters) {
  servers.declare(parameters);
  grouping.declare(parameters);
}

Program PushPull::program(const ScheduleInput& input) const {
  const std::vector<GroupPush> groups = group_pushes(servers, grouping.group(input.profile, servers.cost(input)), input);
  Seconds decode;
  for (const GroupPush& group : groups) decode += group.message.decode();
  return [groups, decode, answer = answer](Worker& worker) {
    std::vector<Exchange> exchanges;
    while (worker.next_step()) {
      worker.forward();
      exchanges.clear();
      for (const GroupPush& next : groups) {
        worker.backward_until(next.post_at);
        exchanges.push_back(next.message.push(worker, worker.step(), answer));
      }
      worker.backward();
      worker.wait(exchanges);
      worker.spend(decode);
      if (answer == Answer::all) worker.apply(worker.step());
    }
  };
}

}  // namespace syncopate
