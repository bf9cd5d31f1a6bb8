#include "schedule/posts.hpp"
#include "schedule/readers.hpp"
#include "schedule/servers.hpp"

namespace syncopate {

namespace {

/// Y. Xu et al., "SSD-SGD: communication sparsification for distributed deep learning training", Sec. 3: after a
/// warm-up of ps-sgd every iteration pushes, and each k-th one also pulls; its pulls overlap the next iteration, whose local
/// update waits for them. What the local update is (GLU, SGD, DC-ASGD) shows in its time only.
Program ssd_sgd(int delay, int warmup_iterations, const GroupingFunction& group, const ScheduleInput& input) {
  return [groups = group_posts(group(input.profile, input.push_pull), input.profile), delay, warmup_iterations](Worker& worker) {
    std::vector<Exchange> pushed;
    std::vector<Exchange> pulls;  ///< of the iteration before
    while (worker.next_step()) {
      const bool warming_up = worker.step() < warmup_iterations;
      const int num = worker.step() - warmup_iterations;
      const bool pull = warming_up || num % delay == delay - 1;
      worker.forward();
      pushed.clear();
      for (const GroupPost& next : groups) {
        worker.backward_until(next.post_at);
        pushed.push_back(worker.push(next.payload, worker.step(), pull ? Answer::all : Answer::none));
      }
      worker.backward();
      if (warming_up) {
        worker.wait(pushed);
        worker.apply(worker.step());
        continue;
      }
      if (!pulls.empty()) {
        worker.wait(pulls);
        worker.apply(worker.step() - 1);
      }
      worker.update();
      pulls.clear();
      if (pull) pulls.swap(pushed);
    }
  };
}

}  // namespace

Schedule read_ssd_sgd(Object& fields, const Cluster& cluster) {
  Schedule schedule = read_server_schedule(fields, cluster);
  schedule.waits_for_all = true;
  const int delay = schedule.cycle = read_steps(fields.at("delay"));
  constexpr int most_warmup = 1'000'000;
  if (const auto warmup = fields.find("warmup_iterations")) {
    schedule.steps_before_warmup = static_cast<int>(warmup->integer(0, most_warmup));
  }
  if (const auto update = fields.find("local_update_s")) schedule.update = update->seconds();
  const GroupingFunction group = read_server_grouping(fields);
  schedule.make = [delay, warmup = schedule.steps_before_warmup, group](const ScheduleInput& input) {
    return ssd_sgd(delay, warmup, group, input);
  };
  return schedule;
}

}  // namespace syncopate
