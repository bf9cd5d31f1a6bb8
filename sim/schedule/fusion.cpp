#include "schedule/grouping.hpp"

namespace syncopate {

void Fusion::declare(Parameters& parameters) {
  parameters.optional("first_bucket", first_bucket, "size of the first bucket");
  parameters.optional("bucket", bucket, "size of the other buckets");
}

Grouping Fusion::operator()(const StepProfile& profile, const CostCurve& /*cost*/) const {
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
