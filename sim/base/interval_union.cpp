#include "base/interval_union.hpp"

#include <algorithm>
#include <utility>

namespace syncopate {

IntervalUnion::IntervalUnion(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) { return a.start < b.start; });
  Seconds total;
  for (const Interval& interval : intervals) {
    if (interval.end <= interval.start) continue;
    if (!merged_.empty() && interval.start <= merged_.back().end) {
      const Seconds grown = std::max(merged_.back().end, interval.end);
      total += grown - merged_.back().end;
      merged_.back().end = grown;
      continue;
    }
    merged_.push_back(interval);
    length_before_.push_back(total);
    total += interval.end - interval.start;
  }
}

Seconds IntervalUnion::covered(Seconds from, Seconds to) const {
  return to <= from ? Seconds(0) : covered_before(to) - covered_before(from);
}

std::vector<Interval> IntervalUnion::within(Seconds from, Seconds to) const {
  std::vector<Interval> parts;
  auto part = std::upper_bound(merged_.begin(), merged_.end(), from, [](Seconds t, const Interval& i) { return t < i.end; });
  for (; part != merged_.end() && part->start < to; ++part) parts.push_back({std::max(from, part->start), std::min(to, part->end)});
  return parts;
}

IntervalUnion IntervalUnion::minus(const IntervalUnion& other) const {
  std::vector<Interval> rest;
  for (const Interval& part : merged_) {
    Seconds from = part.start;
    for (const Interval& removed : other.within(part.start, part.end)) {
      rest.push_back({from, removed.start});
      from = removed.end;
    }
    rest.push_back({from, part.end});
  }
  return IntervalUnion(std::move(rest));
}

Seconds IntervalUnion::covered_before(Seconds time) const {
  const auto after = std::upper_bound(merged_.begin(), merged_.end(), time, [](Seconds t, const Interval& i) { return t < i.start; });
  if (after == merged_.begin()) return Seconds(0);
  const auto index = static_cast<std::size_t>(after - merged_.begin()) - 1;
  return length_before_[index] + std::min(time, merged_[index].end) - merged_[index].start;
}

}  // namespace syncopate
