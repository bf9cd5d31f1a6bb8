#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/units.hpp"
#include "import/kineto.hpp"

namespace syncopate {

/// The calls that launched a profile's kernels, and each thread's call before. Points into the profile.
class Launches {
 public:
  explicit Launches(const KinetoTrace& profile);

  /// The call that launched the kernel; null if the profile does not have it.
  const KinetoTrace::Launch* of(const KinetoTrace::Kernel& kernel) const;
  /// The time of the thread's launch before this one; its own if it is the first.
  Seconds before(const KinetoTrace::Launch& launch) const;

 private:
  std::unordered_map<std::int64_t, const KinetoTrace::Launch*> by_correlation_;
  std::unordered_map<std::uint32_t, std::vector<Seconds>> by_thread_;
};

}  // namespace syncopate
