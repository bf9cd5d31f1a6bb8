#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace syncopate {

/// Values from one to another in steps that can be counted: whole numbers, or decimals of four significant digits, perhaps with a unit.
class ValueRange {
 public:
  /// "4" and "2048", "0.5" and "2", or "1Gbps" and "400Gbps": above 0, ascending, of one unit. Throws UsageError.
  ValueRange(const std::string& from, const std::string& to);

  std::int64_t first() const { return first_; }
  std::int64_t last() const { return last_; }
  /// As a scenario would have it: a number, or a text with the unit.
  Json value(std::int64_t step) const;
  /// Some of the steps, both ends among them: of about equal ratios of their values.
  std::vector<std::int64_t> samples(int count) const;

 private:
  std::string unit_;
  bool whole_ = false;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
};

/// Where along a range a condition begins to hold, or ceases to: by samples of the whole range, then by bisection between two of them.
class ThresholdSearch {
 public:
  explicit ThresholdSearch(const ValueRange& range);

  /// The steps that it wants to know about next; none when it is over.
  const std::vector<std::int64_t>& wanted() const { return wanted_; }
  /// What has been asked for, all of it known now.
  void learn(std::map<std::int64_t, bool> holds);

  enum class Result { everywhere, nowhere, from, until, several };
  /// Once something is known.
  Result result() const;
  /// The last step on the side where it holds, where there is one change.
  std::int64_t threshold() const;
  /// Steps after which it changes, among those that are known.
  std::vector<std::int64_t> changes() const;

 private:
  std::map<std::int64_t, bool> known_;
  std::vector<std::int64_t> wanted_;
};

}  // namespace syncopate
