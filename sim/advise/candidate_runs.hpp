#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "advise/candidate.hpp"
#include "advise/criteria.hpp"
#include "output/results.hpp"
#include "run/point.hpp"
#include "scenario/read.hpp"

namespace syncopate {

/// How candidates are simulated.
struct RunOptions {
  int jobs = 0;                         ///< simulations at the same time; 0: one per core
  std::function<bool()> interrupted{};  ///< see run_forked
  Limits limits{};                      ///< for each simulation
  bool shows_progress = false;          ///< if stderr is a terminal
};

/// Simulates candidates of an advice and stores the results in them.
class CandidateRuns {
 public:
  /// `advice` and `criteria` must outlive this object.
  CandidateRuns(const Advice& advice, const Criteria& criteria, RunOptions options);

  /// Simulates at that depth, or at the next depth that supports the candidate. Candidates that no depth supports get a refusal. Throws
  /// Interrupted.
  void simulate(std::vector<Candidate>& candidates, std::vector<std::size_t> indices, int depth);
  /// Simulates points and returns their outcomes in the same order. `what`: plural noun for the progress bar. Throws Interrupted.
  std::vector<Outcome> run(const std::vector<Point>& points, const std::string& what, const PointOptions& options = {});
  /// Finds these candidates' iterations over usual networks, as deep as they were simulated, where their links have kinds. Throws
  /// Interrupted.
  void find_ranges(std::vector<Candidate>& candidates, const std::vector<std::size_t>& indices);

  /// The candidate as a point of the deepest fidelity, with `values` set at JSON pointers. `origin`: where the values come from, for
  /// messages. Throws InputError.
  Point point(const Candidate& candidate, std::vector<std::pair<std::string, Json>> values = {}, const std::string& origin = "");
  /// Records that the candidate cannot be simulated deeper, or at all.
  void refuse(Candidate& candidate, const std::string& reason);
  void count(Fidelity fidelity) { ++simulated_[std::string(to_string(fidelity))]; }

  const RunOptions& options() const { return options_; }
  const std::map<std::string, std::size_t>& simulated() const { return simulated_; }  ///< by fidelity
  const std::vector<std::string>& notes() const { return notes_; }
  /// A synthetic trace, and the note that says so.
  const Estimates& estimates() const { return estimates_; }
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  std::optional<std::pair<Scenario, int>> read(const Candidate& candidate, int depth, std::string& reason);
  Scenario read_at(const Candidate& candidate, int depth, std::vector<std::pair<std::string, Json>> values, const std::string& origin);
  void learn(Candidate& candidate, const Scenario& scenario);
  void keep(Candidate& candidate, int depth, const Point& point, const PointResult& result);

  const Advice* advice_;
  const Criteria* criteria_;
  RunOptions options_;
  Library library_;
  Estimates estimates_;
  std::map<std::string, std::size_t> simulated_;
  std::vector<std::string> notes_;
  std::vector<std::string> left_out_;
};

}  // namespace syncopate
