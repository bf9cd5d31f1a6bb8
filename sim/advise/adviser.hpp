#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "advise/advice.hpp"
#include "advise/candidate.hpp"
#include "advise/candidate_runs.hpp"
#include "advise/criteria.hpp"
#include "advise/worlds.hpp"
#include "explain/explanation.hpp"

namespace syncopate {

/// Searches the best candidate of an advice. Simulates all candidates in alpha-beta, and those that may be best in deeper fidelities. See
/// scenarios/advice/README.md.
class Adviser {
 public:
  Adviser(Advice advice, RunOptions options);
  Adviser(const Adviser&) = delete;
  Adviser& operator=(const Adviser&) = delete;

  /// Throws InputError with the first reason if no candidate can be simulated, and Interrupted.
  void search();

  const Advice& advice() const { return advice_; }
  const Criteria& criteria() const { return criteria_; }
  const std::vector<Candidate>& candidates() const { return candidates_; }
  /// The best comparable candidate within the limits. Nullopt for "pareto", or if there is none.
  std::optional<std::size_t> choice() const { return choice_; }
  /// The best candidate with another schedule, cluster or number of nodes.
  std::optional<std::size_t> runner_up() const { return runner_up_; }
  /// Comparable candidates within the limits that were simulated in the deepest fidelity, best first. Ordered by the objective ("pareto":
  /// by time) or, with `risk`, by regret.
  std::vector<std::size_t> ranking() const;
  /// The Pareto front of `ranking`: no other candidate is noticeably better in one measure of the objective and as good in the others.
  std::vector<std::size_t> front() const;
  /// Candidates without a samples_factor, within the limits, that would be noticeably better with the same samples, best first. Left out
  /// are those that a candidate with less staleness equals.
  std::vector<std::size_t> staler() const;
  /// The samples_factor at which a candidate of `staler` is as good as the best comparable candidate. With "pareto": neither slower nor
  /// dearer than any of them. Infinite if nothing is comparable.
  double break_even(std::size_t staler) const;
  /// The factors that would speed up the choice most, at most two.
  const std::vector<WhatIf>& decides() const { return decides_; }
  /// Whether both have the same schedule, cluster and number of nodes; parameters may differ.
  bool is_same_but_parameters(std::size_t first, std::size_t second) const;

  const std::map<std::string, std::size_t>& simulated() const { return runs_.simulated(); }  ///< by fidelity
  std::vector<std::string> notes() const;
  /// What of the inputs is estimated, with the notes that say so.
  const Estimates& estimates() const { return runs_.estimates(); }
  const std::vector<std::string>& left_out() const { return runs_.left_out(); }

  /// The candidate as a scenario. Paths are relative to `folder`, or absolute if a symbolic link leads to it.
  Json scenario(const Candidate& candidate, const std::filesystem::path& folder) const;

 private:
  struct Origin {
    std::size_t place;
    int nodes;
    std::size_t schedule;
  };

  void simulate(const std::vector<std::size_t>& indices, int depth) { runs_.simulate(candidates_, indices, depth); }
  void simulate_all();
  void tune(const std::vector<Origin>& origins);

  bool deepen(int depth);
  std::vector<std::size_t> worth_deepening(int depth, double margin) const;
  double disagreement(int depth) const;
  bool is_probe(const Candidate& candidate, int depth) const;
  bool is_beaten(const Candidate& candidate, double margin, int depth) const;

  bool judge_risk();
  void choose();
  std::optional<std::size_t> promising_runner_up() const;
  std::vector<WhatIf> ask_what_decides(const Candidate& candidate);
  std::vector<std::size_t> ranked(bool comparable) const;

  Advice advice_;
  Criteria criteria_;
  CandidateRuns runs_;
  std::optional<Worlds> worlds_;
  std::vector<Candidate> candidates_;
  std::array<double, Candidate::depths> margins_;  ///< by depth: candidates within this share of the best are simulated at that depth
  std::optional<std::size_t> choice_;
  std::optional<std::size_t> runner_up_;
  std::vector<WhatIf> decides_;
  std::string why_undecided_;
};

}  // namespace syncopate
