#pragma once

#include <vector>

#include "base/units.hpp"

namespace syncopate {

struct Interval {
  Seconds start;
  Seconds end;
};

/// A union of intervals, for asking how much of a stretch of time it covers in O(log n).
class IntervalUnion {
 public:
  /// `intervals` in any order; they may touch, overlap or be empty.
  explicit IntervalUnion(std::vector<Interval> intervals);

  /// The part of [from, to] that is covered; 0 when to <= from.
  Seconds covered(Seconds from, Seconds to) const;

  /// What it has of [from, to], in the order of time.
  std::vector<Interval> within(Seconds from, Seconds to) const;
  /// What it has and `other` does not.
  IntervalUnion minus(const IntervalUnion& other) const;

  /// The union's parts, in the order of time.
  const std::vector<Interval>& parts() const { return merged_; }

 private:
  Seconds covered_before(Seconds time) const;

  std::vector<Interval> merged_;
  std::vector<Seconds> length_before_;  ///< per merged interval, the total length of those before it
};

}  // namespace syncopate
