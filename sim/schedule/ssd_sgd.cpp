#include "schedule/posts.hpp"
#include "schedule/servers.hpp"

namespace syncopate {

namespace {

/// After a warm-up of ps-sgd every iteration pushes, and each k-th one also pulls; its pulls overlap the next iteration, whose local
/// update waits for them. What the local update is (GLU, SGD, DC-ASGD) shows in its time only.
struct SsdSgd {
  ServerParameters servers;
  int delay = 1;
  int warmup_iterations = 0;
  std::optional<Seconds> local_update;
  ServerGrouping grouping;

  void declare(Parameters& parameters) {
    constexpr Integers warmups = {0, 1'000'000};
    servers.declare(parameters);
    parameters.required("delay", delay, step_range, "k: every k-th iteration pulls");
    parameters.optional("warmup_iterations", warmup_iterations, warmups, "first iterations of ps-sgd, which are never measured");
    parameters.optional("local_update_s", local_update, "the trace's", "time of the local update");
    grouping.declare(parameters);
  }

  Traffic traffic() const { return servers.traffic(false); }
  Pace pace() const { return {.cycle = delay, .steps_before_warmup = warmup_iterations, .waits_for_all = true, .update = local_update}; }

  Program program(const ScheduleInput& input) const {
    return [groups = group_posts(grouping.group(input.profile, input.push_pull), input.profile), delay = delay,
            warmup_iterations = warmup_iterations](Worker& worker) {
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
};

}  // namespace

ScheduleRow ssd_sgd() {
  return declare_schedule<SsdSgd>("ssd-sgd", "SSD-SGD: push every iteration, pull each k-th and overlap that with the next",
                                  "Y. Xu et al., \"SSD-SGD: communication sparsification for distributed deep learning training\", Sec. 3");
}

}  // namespace syncopate
