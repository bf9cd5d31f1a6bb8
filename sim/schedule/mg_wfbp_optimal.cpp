#include <algorithm>
#include <utility>

#include "schedule/grouping.hpp"

namespace syncopate {

namespace {

/// Ends that differ by less, relatively, are equally good. So rounding errors decide nothing.
constexpr double near_tie = 1e-9;

/// The best grouping of the first gradients.
struct Best {
  Seconds end;              ///< the earliest end of their all-reduces
  int groups = 0;           ///< the smallest number of groups with this end
  std::size_t first = 0;    ///< of these, the largest size of the first group
  std::size_t last_from{};  ///< the first gradient of the last group
};

}  // namespace

// best[j].end = min over i < j of max(best[i].end, ready(j-1)) + a + b (bytes(j) - bytes(i)), the last group being gradients [i, j).
Grouping group_mg_wfbp_optimal(const StepProfile& profile, const CostCurve& cost) {
  const auto& gradients = profile.gradients;
  const std::size_t count = gradients.size();
  std::vector<Bytes> bytes(count + 1);
  for (std::size_t i = 0; i < count; ++i) bytes[i + 1] = bytes[i] + gradients[i].bytes;

  std::vector<Best> best(count + 1);
  std::vector<Seconds> ends(count);
  for (std::size_t j = 1; j <= count; ++j) {
    for (std::size_t i = 0; i < j; ++i) ends[i] = std::max(best[i].end, gradients[j - 1].ready) + cost(bytes[j] - bytes[i]);
    best[j].end = *std::min_element(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(j));
    for (std::size_t i = 0; i < j; ++i) {
      if (ends[i] > best[j].end * (1.0 + near_tie)) continue;
      const int groups = best[i].groups + 1;
      const std::size_t first = i == 0 ? j : best[i].first;
      if (best[j].groups > 0 && std::pair(groups, best[j].first) >= std::pair(best[j].groups, first)) continue;
      best[j].groups = groups;
      best[j].first = first;
      best[j].last_from = i;
    }
  }

  Grouping groups;
  for (std::size_t j = count; j > 0; j = best[j].last_from) groups.push_back({best[j].last_from, j - 1, gradients[j - 1].ready});
  std::reverse(groups.begin(), groups.end());
  return groups;
}

}  // namespace syncopate
