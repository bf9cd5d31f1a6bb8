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

/// Searches what an advice asks for: everything in alpha-beta, what may be best deeper. See scenarios/advice/README.md.
class Adviser {
 public:
  Adviser(Advice advice, RunOptions options);
  Adviser(const Adviser&) = delete;
  Adviser& operator=(const Adviser&) = delete;

  /// Throws InputError where nothing can be simulated at all, with the first reason, and Interrupted.
  void search();

  const Advice& advice() const { return advice_; }
  const Criteria& criteria() const { return criteria_; }
  const std::vector<Candidate>& candidates() const { return candidates_; }
  /// Of what is comparable and within the limits, the best; empty for "pareto", or where there is nothing.
  std::optional<std::size_t> choice() const { return choice_; }
  /// The best besides, of another schedule, cluster or number of nodes.
  std::optional<std::size_t> runner_up() const { return runner_up_; }
  /// Comparable ones within the limits that were simulated deepest, best first: by the objective ("pareto": by time) or, with `risk`, the
  /// least regret first.
  std::vector<std::size_t> ranking() const;
  /// Of these, those than which no other is noticeably better in the objective (with "pareto", in time or cost and as good in the other).
  std::vector<std::size_t> front() const;
  /// Others within the limits that would be noticeably better with no more samples, best first; those that fresher ones equal are left out.
  std::vector<std::size_t> staler() const;
  /// How many times the samples a staler one could need and still be as good as what is comparable; with "pareto", be neither slower nor
  /// dearer than any of these. Infinite where nothing is comparable.
  double break_even(std::size_t staler) const;
  /// What would make the choice fastest: at most two.
  const std::vector<WhatIf>& decides() const { return decides_; }
  /// The same schedule on as many nodes of the same cluster, whatever its parameters are.
  bool is_same_but_parameters(std::size_t one, std::size_t other) const;

  const std::map<std::string, std::size_t>& simulated() const { return runs_.simulated(); }  ///< by fidelity
  std::vector<std::string> notes() const;
  const std::vector<std::string>& left_out() const { return runs_.left_out(); }

  /// A scenario of the candidate, its paths relative to `folder`; absolute where that is reached by a symbolic link.
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
  std::array<double, Candidate::depths> margins_;  ///< within which of the best something is simulated in that depth
  std::optional<std::size_t> choice_;
  std::optional<std::size_t> runner_up_;
  std::vector<WhatIf> decides_;
  std::string why_undecided_;
};

}  // namespace syncopate
