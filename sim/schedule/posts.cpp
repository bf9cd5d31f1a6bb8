#include "schedule/posts.hpp"

#include <fmt/format.h>

namespace syncopate {

namespace {

SharedPayload make_payload(const GradientGroup& group, const StepProfile& profile) {
  auto payload = std::make_shared<Payload>();
  for (std::size_t i = group.first; i <= group.last; ++i) {
    payload->slices.push_back({static_cast<int>(i), profile.gradients[i].bytes});
    payload->bytes += profile.gradients[i].bytes;
  }
  const std::string& first = profile.gradients[group.first].name;
  const std::string& last = profile.gradients[group.last].name;
  payload->label = group.first == group.last ? first : fmt::format("{}..{}", first, last);
  return payload;
}

}  // namespace

std::vector<GroupPost> group_posts(const Grouping& grouping, const StepProfile& profile) {
  std::vector<GroupPost> posts;
  posts.reserve(grouping.size());
  for (const GradientGroup& group : grouping) posts.push_back({group.post_at, make_payload(group, profile)});
  return posts;
}

Seconds merge_time(const Payload& payload, SecondsPerByte copy) { return payload.slices.size() > 1 ? copy * payload.bytes : Seconds(0); }

SharedPayload whole_model(const StepProfile& profile) { return make_payload({0, profile.gradients.size() - 1, profile.backward}, profile); }

}  // namespace syncopate
