#include "schedule/posts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/errors.hpp"
#include "base/text.hpp"

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

double count_parts(Bytes bytes, Bytes size) { return std::max(1.0, std::ceil(bytes / size)); }

void check_parts(double count, Bytes size) {
  constexpr double most = 1e6;
  if (count <= most) return;
  throw SimulationError(
      fmt::format("a partition of {} cuts the gradients into {:.3g} parts, but at most {:g} can be simulated; make it larger",
                  format_bytes(size), count, most));
}

std::vector<SharedPayload> cut(const SharedPayload& payload, Bytes size) {
  const auto count = static_cast<std::size_t>(count_parts(payload->bytes, size));
  if (count == 1) return {payload};
  std::vector<SharedPayload> parts;
  auto slice = payload->slices.begin();
  Bytes taken;  // of that slice, by the parts before
  for (std::size_t number = 0; number < count; ++number) {
    const Bytes bytes = number + 1 < count ? size : payload->bytes - static_cast<double>(number) * size;
    auto part = std::make_shared<Payload>(Payload{fmt::format("{}[{}]", payload->label, number), {}, bytes});
    for (Bytes left = bytes; left > Bytes(0) && slice != payload->slices.end();) {
      const Bytes piece = std::min(left, slice->bytes - taken);
      if (piece > Bytes(0)) part->slices.push_back({slice->tensor, piece});
      left -= piece;
      taken += piece;
      if (taken < slice->bytes) continue;
      ++slice;
      taken = Bytes(0);
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

Seconds merge_time(const Payload& payload, SecondsPerByte copy) { return payload.slices.size() > 1 ? copy * payload.bytes : Seconds(0); }

SharedPayload whole_model(const StepProfile& profile) { return make_payload({0, profile.gradients.size() - 1, profile.backward}, profile); }

}  // namespace syncopate
