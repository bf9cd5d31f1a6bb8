#pragma once

#include <optional>
#include <vector>

#include "advise/candidate.hpp"

namespace syncopate {

/// Relative differences up to this one do not decide.
constexpr double practically_none = 0.005;

/// Judges candidates by an advice: times, costs, limits, comparisons.
class Criteria {
 public:
  /// `advice` must outlive this object.
  explicit Criteria(const Advice& advice) : advice_(&advice) {}

  /// Samples of an entry of the advice's schedules relative to synchronous SGD. Nullopt: not given.
  std::optional<double> samples_factor(std::size_t origin, bool is_sgd) const;

  /// Hours until the target at this iteration time. The candidate must have been simulated.
  double hours(const Candidate& candidate, Seconds iteration) const;
  /// Cost of `hours`. Nullopt without a price.
  std::optional<double> cost(const Candidate& candidate, double hours) const;
  /// The measures of the objective, less is better: hours, costs or, with "pareto", both.
  std::vector<double> measures(const Candidate& candidate, double hours) const;
  /// The objective by the deepest simulation; hours with "pareto".
  double value(const Candidate& candidate) const { return measures(candidate, candidate.hours).front(); }
  /// The objective's mean over the worlds of `risk`; `value` if the candidate was not simulated in them.
  double mean_value(const Candidate& candidate) const;

  /// Whether the deepest simulation and, if known, the mean over the worlds of `risk` are within the limits times `slack`.
  bool is_within_limits(const Candidate& candidate, double slack = 1.0) const;
  /// Sum of the shares by which it exceeds the limits. 0 within them.
  double excess(const Candidate& candidate) const;

  /// At that depth, `one` is comparable, within the limits, and better by more than the margin in every measure of the objective.
  bool beats(const Candidate& one, const Candidate& other, double margin, int depth) const;
  /// At that depth, `one` is within the limits and no slower, no dearer and no staler. Of equal candidates the first wins.
  bool is_no_worse(const Candidate& one, const Candidate& other, int depth) const;
  /// Both come from one entry of the schedules, `one` is not comparable, and `one` has no more staleness, no longer cycle and is as good.
  bool is_fresher_and_as_good(const Candidate& one, const Candidate& other, int depth) const;
  /// `one` is better by more than `practically_none` in one measure of the objective and as good in the others.
  bool is_noticeably_better(const Candidate& one, const Candidate& other) const;

 private:
  std::vector<double> measures_at(const Candidate& candidate, int depth) const;

  const Advice* advice_;
};

}  // namespace syncopate
