#include <algorithm>
#include <cmath>

#include "schedule/grouping.hpp"

namespace syncopate {

void Horovod::declare(Parameters& parameters) {
  parameters.optional("threshold", threshold, "maximum size of a fused message");
  parameters.optional("cycle_s", cycle, "length of a cycle, at whose end gradients that are ready are fused");
}

Grouping Horovod::operator()(const StepProfile& profile, const CostCurve& /*cost*/) const {
  const auto& gradients = profile.gradients;
  const auto seen = [&](std::size_t i) {
    const Seconds ready = gradients[i].ready;
    if (cycle == Seconds(0)) return ready;
    const double cycles = std::ceil(ready / cycle * (1.0 - rounding));
    return std::max(ready, std::min(cycles * cycle, profile.backward));
  };
  Grouping groups;
  Bytes filled;
  std::size_t first = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    filled += gradients[i].bytes;
    const bool goes_on = i + 1 < gradients.size() && seen(i + 1) == seen(first) && filled + gradients[i + 1].bytes <= threshold;
    if (goes_on) continue;
    groups.push_back({first, i, seen(i)});
    filled = Bytes(0);
    first = i + 1;
  }
  return groups;
}

}  // namespace syncopate
