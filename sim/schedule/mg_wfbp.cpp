#include <algorithm>

#include "schedule/grouping.hpp"

namespace syncopate {

namespace {

/// How much less one all-reduce takes than two, Eq. 17: the start-up time a, where the cost is a line.
Seconds saved_by_merging(const CostCurve& cost, Bytes first, Bytes second) {
  const CostLine of_first = cost.tangent(first);
  const CostLine of_second = cost.tangent(second);
  const CostLine of_both = cost.tangent(first + second);
  // Of a line this is a, without a rounding error.
  return (of_first.a + of_second.a - of_both.a) + ((of_first.b - of_both.b) * first + (of_second.b - of_both.b) * second);
}

}  // namespace

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
    if (i + 1 < gradients.size()) {
      const Seconds saved = saved_by_merging(cost, merged, gradients[i + 1].bytes);
      if (saved >= Seconds(0) && gradients[i + 1].ready - start < saved) continue;
    }
    groups.push_back({first, i, gradients[i].ready});
    channel_free = start + cost(merged);
    merged = Bytes(0);
    first = i + 1;
  }
  return groups;
}

}  // namespace syncopate
