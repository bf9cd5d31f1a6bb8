#include <algorithm>

#include "schedule/grouping.hpp"

namespace syncopate {

// Gradients are in ready order: the paper's layer l is gradient i, and layer l-1 is gradient i+1.
Grouping group_mg_wfbp(const StepProfile& profile, const CostCurve& cost) {
  const auto& gradients = profile.gradients;
  Grouping groups;
  Seconds channel_free;
  Bytes merged;
  std::size_t first = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    merged += gradients[i].bytes;
    const Seconds start = std::max(channel_free, gradients[i].ready);  // the paper's tau_c(l)
    const bool merge = i + 1 < gradients.size() && gradients[i + 1].ready - start < cost.tangent(merged).a;
    if (merge) continue;
    groups.push_back({first, i, gradients[i].ready});
    channel_free = start + cost(merged);
    merged = Bytes(0);
    first = i + 1;
  }
  return groups;
}

}  // namespace syncopate
