#include <algorithm>

#include "schedule/grouping.hpp"

namespace syncopate {

void Fusion::declare(Parameters& parameters) {
  parameters.optional("first_bucket", first_bucket, "size of the first bucket");
  parameters.optional("bucket", bucket, "size of the other buckets");
  parameters.optional("last_bucket", last_bucket, "first_bucket is the last one's size, filled first (DDP_SET_LAST_BUCKET_CAP)");
}

Grouping Fusion::operator()(const StepProfile& profile, const CostCurve& /*cost*/) const {
  const auto& gradients = profile.gradients;
  const std::size_t count = gradients.size();
  std::vector<std::size_t> sizes;  // in the order of filling
  Bytes filled;
  std::size_t first = 0;
  for (std::size_t i = 0; i < count; ++i) {
    filled += gradients[last_bucket ? count - 1 - i : i].bytes;
    const bool full = filled >= (sizes.empty() ? first_bucket : bucket);
    if (!full && i + 1 < count) continue;
    sizes.push_back(i + 1 - first);
    filled = Bytes(0);
    first = i + 1;
  }
  if (last_bucket) std::reverse(sizes.begin(), sizes.end());
  Grouping groups;
  first = 0;
  for (const std::size_t size : sizes) {
    groups.push_back({first, first + size - 1, gradients[first + size - 1].ready});
    first += size;
  }
  return groups;
}

}  // namespace syncopate
