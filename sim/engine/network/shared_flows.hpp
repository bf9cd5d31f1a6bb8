#pragma once

#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

/// Flows that all move at the same rate, which changes with time: processor sharing in O(log n) per flow. Virtual time is the
/// bytes that a flow present since the start would have moved; a flow ends when virtual time has grown by its bytes.
class SharedFlows {
 public:
  bool empty() const { return flows_.empty(); }
  std::size_t size() const { return flows_.size(); }

  /// A flow begins at `now`, after advance_to(now).
  void add(Bytes bytes, int id) { flows_.emplace(moved_ + bytes, id); }

  /// Lets time pass at the current rate.
  void advance_to(Seconds now);

  /// The rate of each flow from now on.
  void set_rate(Rate rate) { rate_ = rate; }

  /// When the next flow ends at the current rate. Requires that there is one.
  Seconds next_end() const { return last_ + (flows_.top().first - moved_) / rate_; }

  /// Takes out the flows that have ended at `now` but for a rounding error, after advance_to(now).
  void pop_ended(Seconds now, std::vector<int>& ids);

 private:
  using Flow = std::pair<Bytes, int>;  ///< virtual time at its end, id
  std::priority_queue<Flow, std::vector<Flow>, std::greater<>> flows_;
  Bytes moved_;  ///< virtual time
  Seconds last_;
  Rate rate_;
};

}  // namespace syncopate
