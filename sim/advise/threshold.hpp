#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace syncopate {

/// A range of values in numbered steps: whole numbers, or decimals of four significant digits, optionally with a unit.
class ValueRange {
 public:
  /// "4" and "2048", "0.5" and "2", or "1Gbps" and "400Gbps": above 0, ascending, of one unit. Throws UsageError.
  ValueRange(const std::string& from, const std::string& to);

  std::int64_t first() const { return first_; }
  std::int64_t last() const { return last_; }
  /// The value for a scenario: a number, or a text with the unit.
  Json value(std::int64_t step) const;
  /// About `count` steps with roughly equal ratios of their values, including both ends.
  std::vector<std::int64_t> samples(int count) const;

 private:
  std::string unit_;
  bool whole_ = false;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
};

/// Finds where along a range a condition begins or ceases to hold: samples the whole range, then bisects between two samples.
class ThresholdSearch {
 public:
  explicit ThresholdSearch(const ValueRange& range);

  /// The steps to test next. Empty when the search is over.
  const std::vector<std::int64_t>& wanted() const { return wanted_; }
  /// Takes the answers for all wanted steps.
  void learn(std::map<std::int64_t, bool> holds);

  enum class Result { everywhere, nowhere, from, until, several };
  /// Call it after the first `learn`.
  Result result() const;
  /// The last step at which the condition holds, next to the change. Only for `from` and `until`.
  std::int64_t threshold() const;
  /// Known steps after which the condition changes.
  std::vector<std::int64_t> changes() const;

 private:
  std::map<std::int64_t, bool> known_;
  std::vector<std::int64_t> wanted_;
};

}  // namespace syncopate
