#include "import/device_time.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace syncopate {

namespace {

using Kernel = KinetoTrace::Kernel;
using Stretch = KinetoTrace::Stretch;

IntervalUnion union_of(const std::vector<Stretch>& stretches) {
  std::vector<Interval> times;
  for (const Stretch& stretch : stretches) times.push_back(stretch.time);
  return IntervalUnion(std::move(times));
}

/// Collectives, in the order of their ends.
class Collectives {
 public:
  explicit Collectives(std::vector<Interval> times) : times_(std::move(times)) {
    std::sort(times_.begin(), times_.end(), [](const Interval& a, const Interval& b) { return a.end < b.end; });
  }

  /// Adds to `found` their parts in [from, to], of those that end in it.
  void add_ended_in(Seconds from, Seconds to, std::vector<Interval>& found) const {
    constexpr Seconds resolution(1e-9);
    const auto is_before = [](const Interval& collective, Seconds time) { return collective.end < time; };
    auto at = std::lower_bound(times_.begin(), times_.end(), from, is_before);
    for (; at != times_.end() && at->end <= to + resolution; ++at) found.push_back({std::max(from, at->start), std::min(to, at->end)});
  }

 private:
  std::vector<Interval> times_;
};

}  // namespace

DeviceTime::DeviceTime(const KinetoTrace& profile, const Launches& launches) : computing({}), moving({}), waiting({}) {
  if (profile.cpu_only()) {
    find_on_cpu(profile);
  } else {
    find_on_gpu(profile, launches);
  }
}

void DeviceTime::find_on_gpu(const KinetoTrace& profile, const Launches& launches) {
  std::vector<const Kernel*> kernels;
  std::vector<Interval> times;
  std::vector<Interval> moves;
  for (const Kernel& kernel : profile.kernels) {
    (kernel.communication ? moves : times).push_back({kernel.start, kernel.end});
    if (!kernel.communication) kernels.push_back(&kernel);
  }
  const IntervalUnion on_host = union_of(profile.host_collectives);
  const IntervalUnion host_waits = union_of(profile.waits);
  for (const Interval& part : on_host.parts()) moves.push_back(part);
  const Collectives all(moves);
  const Collectives of_host(on_host.parts());
  computing = IntervalUnion(std::move(times));
  moving = IntervalUnion(std::move(moves));

  std::sort(kernels.begin(), kernels.end(), [](const Kernel* a, const Kernel* b) { return a->start < b->start; });
  std::vector<Interval> waits;
  Seconds end = kernels.empty() ? Seconds(0) : kernels.front()->start;
  for (const Kernel* kernel : kernels) {
    const Interval gap = {end, kernel->start};
    end = std::max(end, kernel->end);
    constexpr Seconds own(2e-6);  // the GPU's own, from one kernel to the next
    if (gap.end - gap.start <= own) continue;
    if (const KinetoTrace::Launch* launch = launches.of(*kernel)) {
      for (const Interval& call : host_waits.within(gap.start, std::min(gap.end, launch->time)))
        all.add_ended_in(call.start, call.end, waits);
      all.add_ended_in(std::max(gap.start, launch->time), gap.end, waits);
      of_host.add_ended_in(std::max(gap.start, launches.before(*launch)), std::min(gap.end, launch->time), waits);
    }
  }
  waiting = IntervalUnion(std::move(waits));

  Seconds from = kernels.empty() ? Seconds(0) : kernels.front()->start;
  for (const Kernel* kernel : kernels) {
    if (const Seconds time = waiting.covered(from, kernel->start); time > Seconds(0)) waited.emplace(kernel, time);
    from = std::max(from, kernel->end);
  }
}

void DeviceTime::find_on_cpu(const KinetoTrace& profile) {
  moving = union_of(profile.host_collectives);
  std::unordered_map<std::uint32_t, std::vector<Seconds>> calls;  // by thread
  for (const Stretch& call : profile.collective_calls) calls[call.thread].push_back(call.time.start);
  for (auto& [thread, starts] : calls) std::sort(starts.begin(), starts.end());
  std::vector<Interval> waits;
  std::vector<Interval> times;
  for (const KinetoTrace::Operator& op : profile.operators) {
    times.push_back({op.start, op.end});
    const std::vector<Seconds>& of_thread = calls[op.thread];
    const auto first = std::lower_bound(of_thread.begin(), of_thread.end(), op.start);
    if (first == of_thread.end() || *first > op.end) continue;
    for (const Interval& part : moving.within(*first, op.end)) waits.push_back(part);
  }
  waiting = IntervalUnion(std::move(waits));
  computing = IntervalUnion(std::move(times)).minus(waiting);
}

}  // namespace syncopate
