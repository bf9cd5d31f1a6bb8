#include "schedule/posts.hpp"
#include "schedule/servers.hpp"

namespace syncopate {

void PushPull::declare(Parameters& parameters) {
  servers.declare(parameters);
  grouping.declare(parameters);
}

Program PushPull::program(const ScheduleInput& input) const {
  return [groups = group_posts(grouping.group(input.profile, input.push_pull), input.profile), answer = answer](Worker& worker) {
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

}  // namespace syncopate
