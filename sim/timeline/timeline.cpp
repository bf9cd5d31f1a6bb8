#include "timeline/timeline.hpp"

#include <algorithm>

namespace syncopate {

double Window::share(const Interval& interval) const {
  if (interval.end == interval.start) return interval.start >= open && interval.start < close ? 1.0 : 0.0;
  const double share = (std::min(interval.end, close) - std::max(interval.start, open)) / (interval.end - interval.start);
  return share > rounding ? share : 0.0;
}

}  // namespace syncopate
