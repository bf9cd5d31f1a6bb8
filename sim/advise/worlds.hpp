#pragma once

#include <vector>

#include "advise/candidate_runs.hpp"

namespace syncopate {

/// The other worlds of an advice's `risk`: other seeds of its workers, and other bandwidths between nodes.
class Worlds {
 public:
  /// Of an advice that has a `risk`. All of them must outlive it.
  Worlds(const Advice& advice, const Criteria& criteria, CandidateRuns& runs);

  /// Simulates these in all worlds, then judges all that have been: their regrets are against the best of those within the limits. What
  /// fails in a world is refused. Throws InputError for what the risk says, and Interrupted.
  void judge(std::vector<Candidate>& candidates, const std::vector<std::size_t>& indices);

 private:
  std::vector<Point> points_of(const Candidate& candidate) const;
  void find_regrets(std::vector<Candidate>& candidates) const;

  const Advice* advice_;
  const Criteria* criteria_;
  CandidateRuns* runs_;
  std::vector<double> bandwidths_;  ///< times what they are
  int seeds_;
};

}  // namespace syncopate
