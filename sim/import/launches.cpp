#include "import/launches.hpp"

#include <algorithm>
#include <iterator>

namespace syncopate {

Launches::Launches(const KinetoTrace& profile) {
  for (const KinetoTrace::Launch& launch : profile.launches) {
    by_correlation_.emplace(launch.correlation, &launch);
    by_thread_[launch.thread].push_back(launch.time);
  }
  for (auto& [thread, times] : by_thread_) std::sort(times.begin(), times.end());
}

const KinetoTrace::Launch* Launches::of(const KinetoTrace::Kernel& kernel) const {
  const auto found = by_correlation_.find(kernel.correlation);
  return found == by_correlation_.end() ? nullptr : found->second;
}

Seconds Launches::before(const KinetoTrace::Launch& launch) const {
  const std::vector<Seconds>& times = by_thread_.at(launch.thread);
  const auto at = std::lower_bound(times.begin(), times.end(), launch.time);
  return at == times.begin() ? launch.time : *std::prev(at);
}

}  // namespace syncopate
