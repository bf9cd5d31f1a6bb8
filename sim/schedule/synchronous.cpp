#include "schedule/synchronous.hpp"

#include <fmt/format.h>

namespace syncopate {

namespace {

struct GroupPost {
  Seconds post_at;
  SharedPayload payload;
};

SharedPayload make_payload(const GradientGroup& group, const StepProfile& profile) {
  auto payload = std::make_shared<Payload>();
  for (std::size_t i = group.first; i <= group.last; ++i) {
    payload->slices.push_back({static_cast<int>(i), Bytes(0), profile.gradients[i].bytes});
    payload->bytes += profile.gradients[i].bytes;
  }
  const std::string& first = profile.gradients[group.first].name;
  const std::string& last = profile.gradients[group.last].name;
  payload->label = group.first == group.last ? first : fmt::format("{}..{}", first, last);
  return payload;
}

}  // namespace

Program synchronous(const GroupingFunction& group, const StepProfile& profile, const CostLine& all_reduce, int ranks) {
  std::vector<GroupPost> groups;
  if (ranks > 1) {
    for (const GradientGroup& gradients : group(profile, all_reduce))
      groups.push_back({gradients.post_at, make_payload(gradients, profile)});
  }
  return [groups](Worker& worker) {
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
      worker.update(worker.step());
    }
  };
}

}  // namespace syncopate
