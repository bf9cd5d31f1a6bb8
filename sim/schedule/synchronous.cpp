#include "schedule/synchronous.hpp"

#include "schedule/posts.hpp"

namespace syncopate {

Program synchronous(const GroupingFunction& group, const StepProfile& profile, const CostLine& all_reduce) {
  return [groups = group_posts(group(profile, all_reduce), profile)](Worker& worker) {
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

}  // namespace syncopate
