#include "schedule/grouping.hpp"

namespace syncopate {

Grouping group_wfbp(const StepProfile& profile, const CostCurve& /*cost*/) {
  Grouping groups;
  for (std::size_t i = 0; i < profile.gradients.size(); ++i) groups.push_back({i, i, profile.gradients[i].ready});
  return groups;
}

}  // namespace syncopate
