#pragma once

#include <vector>

#include "advise/candidate_runs.hpp"

namespace syncopate {

/// The worlds of an advice's `risk`: other seeds of the workers and other bandwidths between nodes.
class Worlds {
 public:
  /// `advice` must have a `risk`. All arguments must outlive this object.
  Worlds(const Advice& advice, const Criteria& criteria, CandidateRuns& runs);

  /// Simulates these candidates in all worlds. Then computes the regrets of all judged candidates against the best one within the limits. A
  /// candidate that fails in a world is refused. Throws InputError for errors in the risk, and Interrupted.
  void judge(std::vector<Candidate>& candidates, const std::vector<std::size_t>& indices);

 private:
  std::vector<Point> points_of(const Candidate& candidate) const;
  void find_regrets(std::vector<Candidate>& candidates) const;

  const Advice* advice_;
  const Criteria* criteria_;
  CandidateRuns* runs_;
  std::vector<double> bandwidths_;  ///< factors on the bandwidths
  int seeds_;
};

}  // namespace syncopate
