#include "schedule/grouping.hpp"

namespace syncopate {

Grouping group_fusion(const StepProfile& profile, Bytes first_bucket, Bytes bucket) {
  const auto& gradients = profile.gradients;
  Grouping groups;
  Bytes filled;
  std::size_t first = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    filled += gradients[i].bytes;
    const bool full = filled >= (groups.empty() ? first_bucket : bucket);
    if (!full && i + 1 < gradients.size()) continue;
    groups.push_back({first, i, gradients[i].ready});
    filled = Bytes(0);
    first = i + 1;
  }
  return groups;
}

}  // namespace syncopate
