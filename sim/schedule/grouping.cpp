#include "schedule/grouping.hpp"

#include <algorithm>

namespace syncopate {

Seconds communication_end(const Grouping& grouping, const StepProfile& profile, const CostLine& cost) {
  Seconds free;
  for (const GradientGroup& group : grouping) {
    Bytes bytes;
    for (std::size_t i = group.first; i <= group.last; ++i) bytes += profile.gradients[i].bytes;
    free = std::max(free, group.post_at) + cost(bytes);
  }
  return free;
}

}  // namespace syncopate
