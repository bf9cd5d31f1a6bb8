#pragma once

#include <optional>
#include <vector>

#include "advise/candidate.hpp"

namespace syncopate {

/// A difference that decides nothing, relative.
constexpr double practically_none = 0.005;

/// What an advice looks at: how long candidates take, what they cost, whether that is within its limits, and which are better.
class Criteria {
 public:
  /// `advice` must outlive it.
  explicit Criteria(const Advice& advice) : advice_(&advice) {}

  /// How many times the samples an entry of the advice's schedules needs; nullopt: nobody has said.
  std::optional<double> samples_factor(std::size_t origin, bool is_sgd) const;

  /// Until the target, of one that has been simulated, at so many seconds per iteration.
  double hours(const Candidate& candidate, Seconds iteration) const;
  /// Of so many hours; nullopt without a price.
  std::optional<double> cost(const Candidate& candidate, double hours) const;
  /// What the objective looks at, less being better: hours, costs or, with "pareto", both.
  std::vector<double> measures(const Candidate& candidate, double hours) const;
  /// The objective in the deepest fidelity that has been simulated; of "pareto" the hours.
  double value(const Candidate& candidate) const { return measures(candidate, candidate.hours).front(); }
  /// The same in the mean of the other worlds, where it has been simulated in these.
  double mean_value(const Candidate& candidate) const;

  /// Times `slack`. They hold for what has been simulated deepest and, where that is known, in the mean of the other worlds.
  bool is_within_limits(const Candidate& candidate, double slack = 1.0) const;
  /// By what share it is over the limits, in all; 0 within them.
  double excess(const Candidate& candidate) const;

  /// In a fidelity of that depth, it is comparable, within the limits, and better by more than the margin in all that counts.
  bool beats(const Candidate& one, const Candidate& other, double margin, int depth) const;
  /// In a fidelity of that depth, it is within the limits and no slower, no dearer and no staler; of equals it is the first.
  bool is_no_worse(const Candidate& one, const Candidate& other, int depth) const;
  /// Of one entry of the schedules, neither being comparable: no staler, no rarer, and as good.
  bool is_fresher_and_as_good(const Candidate& one, const Candidate& other, int depth) const;
  /// Better by more than `practically_none` in something that counts, and as good in the rest.
  bool is_noticeably_better(const Candidate& one, const Candidate& other) const;

 private:
  std::vector<double> measures_at(const Candidate& candidate, int depth) const;

  const Advice* advice_;
};

}  // namespace syncopate
