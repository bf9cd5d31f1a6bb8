#include "schedule/grouping.hpp"

namespace syncopate {

Grouping group_s_sgd(const StepProfile& profile, const CostCurve& /*cost*/) {
  Grouping groups;
  for (std::size_t i = 0; i < profile.gradients.size(); ++i) groups.push_back({i, i, profile.backward});
  return groups;
}

}  // namespace syncopate
