#include <algorithm>
#include <limits>
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

/// Of all gradients before each one, and of all of them.
std::vector<Bytes> bytes_before(const StepProfile& profile) {
  std::vector<Bytes> bytes(profile.gradients.size() + 1);
  for (std::size_t i = 0; i < profile.gradients.size(); ++i) bytes[i + 1] = bytes[i] + profile.gradients[i].bytes;
  return bytes;
}

}  // namespace

// best[j].end = min over i < j of max(best[i].end, ready(j-1)) + a + b (bytes(j) - bytes(i)), the last group being gradients [i, j).
Grouping group_mg_wfbp_optimal(const StepProfile& profile, const CostCurve& cost) {
  const auto& gradients = profile.gradients;
  const std::size_t count = gradients.size();
  const std::vector<Bytes> bytes = bytes_before(profile);
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

void MgWfbpOptimal::declare(Parameters& parameters) {
  parameters.optional("tolerance", tolerance, {0.0, 1.0}, "share by which an iteration may take longer, for fewer groups");
}

// fewest[j].end after k groups = min over i < j of max(fewest[i].end after k-1 groups, ready(j-1)) + cost(bytes(j) - bytes(i)).
Grouping MgWfbpOptimal::operator()(const StepProfile& profile, const CostCurve& cost) const {
  Grouping optimal = group_mg_wfbp_optimal(profile, cost);
  const auto& gradients = profile.gradients;
  const auto iteration = [&](Seconds end) { return profile.forward + std::max(profile.backward, end) + profile.update; };
  const Seconds most = (1.0 + tolerance) * iteration(communication_end(optimal, profile, cost));
  const std::size_t count = gradients.size();
  const std::vector<Bytes> bytes = bytes_before(profile);
  std::vector<Seconds> ends(count + 1, Seconds(std::numeric_limits<double>::infinity()));
  ends[0] = Seconds(0);
  std::vector<std::vector<std::size_t>> last_from;  // by number of groups, by end of the last: the first gradient of the last
  while (tolerance > 0.0 && last_from.size() + 1 < optimal.size()) {
    std::vector<Seconds> next(count + 1, Seconds(std::numeric_limits<double>::infinity()));
    std::vector<std::size_t>& from = last_from.emplace_back(count + 1);
    for (std::size_t j = 1; j <= count; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        const Seconds end = std::max(ends[i], gradients[j - 1].ready) + cost(bytes[j] - bytes[i]);
        if (end >= next[j]) continue;
        next[j] = end;
        from[j] = i;
      }
    }
    ends = std::move(next);
    if (iteration(ends[count]) > most) continue;
    Grouping groups;
    std::size_t j = count;
    for (std::size_t k = last_from.size(); k > 0; --k) {
      const std::size_t first = last_from[k - 1][j];
      groups.push_back({first, j - 1, gradients[j - 1].ready});
      j = first;
    }
    std::reverse(groups.begin(), groups.end());
    return groups;
  }
  return optimal;
}

}  // namespace syncopate
