#include <algorithm>

#include "schedule/grouping.hpp"

namespace syncopate {

// end[j]: when the first j gradients can have been reduced at the earliest; its last group is gradients [i, j).
// end[j] = min over i < j of max(end[i], ready(j-1)) + a + b (bytes(j) - bytes(i)).
Grouping group_mg_wfbp_optimal(const StepProfile& profile, const CostLine& cost) {
  const auto& gradients = profile.gradients;
  const std::size_t count = gradients.size();
  std::vector<Bytes> bytes(count + 1);
  for (std::size_t i = 0; i < count; ++i) bytes[i + 1] = bytes[i] + gradients[i].bytes;

  std::vector<Seconds> end(count + 1);
  std::vector<std::size_t> group_begin(count + 1);
  for (std::size_t j = 1; j <= count; ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      const Seconds candidate = std::max(end[i], gradients[j - 1].ready) + cost(bytes[j] - bytes[i]);
      // Ties go to the larger group: fewer messages for the same time.
      if (i == 0 || candidate < end[j]) {
        end[j] = candidate;
        group_begin[j] = i;
      }
    }
  }

  Grouping groups;
  for (std::size_t j = count; j > 0; j = group_begin[j]) groups.push_back({group_begin[j], j - 1, gradients[j - 1].ready});
  std::reverse(groups.begin(), groups.end());
  return groups;
}

}  // namespace syncopate
