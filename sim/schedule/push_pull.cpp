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
  return [groups, decode, answer = answer, compression = servers.compression](Worker& worker) {
    std::vector<Exchange> exchanges;
    Sender send(compression, groups.size());
    while (worker.next_step()) {
      worker.forward();
      exchanges.clear();
      for (std::size_t i = 0; i < groups.size(); ++i) {
        worker.backward_until(groups[i].post_at);
        const Values gradient = send(worker, i, [&] { return worker.gradient(); });
        exchanges.push_back(groups[i].message.push(worker, worker.step(), answer, {.value = gradient}));
      }
      worker.backward();
      worker.wait(exchanges);
      worker.spend(decode);
      worker.replica().become(worker.pulled_by(exchanges));
      if (answer == Answer::all) worker.apply(worker.step());
    }
  };
}

}  // namespace syncopate
