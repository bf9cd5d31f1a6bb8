#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "output/row.hpp"
#include "scenario/read.hpp"
#include "study/advice.hpp"
#include "study/explanation.hpp"
#include "study/point.hpp"

namespace syncopate {

/// A difference that decides nothing, relative.
constexpr double practically_none = 0.005;

/// A schedule with its parameters on so many nodes of a cluster.
struct Candidate {
  std::size_t place = 0;
  int nodes = 1;
  int paid_nodes = 1;  ///< with servers that have nodes of their own
  Json schedule;
  std::size_t origin = 0;  ///< which of the advice's schedules it comes from

  bool is_probe = false;       ///< of a parameter's range, and another value of it is better in all that counts
  bool is_sgd = false;         ///< trains as synchronous SGD does
  bool is_comparable = false;  ///< that, or it is known how many samples it needs
  int cycle = 1;               ///< steps after which its pattern repeats

  /// In a fidelity of this depth: the iteration, where that has been simulated.
  static constexpr int depths = 3;  ///< alpha-beta, per message, as deep as `auto` goes
  std::array<std::optional<Seconds>, depths> iteration{};
  int depth = -1;  ///< the deepest that has been simulated; -1: none
  Fidelity fidelity = Fidelity::alpha_beta;
  Row row{};  ///< that of the deepest

  double hours = 0.0;  ///< until the target, in the deepest
  std::optional<double> cost{};

  /// Of its objective over all worlds, and against the best there.
  struct Risk {
    double mean = 0.0;
    double worst_regret = 0.0;
    double mean_regret = 0.0;
  };
  std::optional<Risk> risk{};
};

/// Searches what an advice asks for: everything in alpha-beta, what may be best deeper. See scenarios/advice/README.md.
class Adviser {
 public:
  /// `jobs` simulations at a time (0: one per core). `interrupted`: see run_forked.
  Adviser(Advice advice, int jobs, std::function<bool()> interrupted);

  /// Throws InputError where nothing can be simulated at all, with the first reason, SimulationError for a world of `risk` that fails, and
  /// Interrupted.
  void search();

  const Advice& advice() const { return advice_; }
  const std::vector<Candidate>& candidates() const { return candidates_; }
  /// Of what is comparable and within the limits, the best; empty for "pareto", or where there is nothing.
  std::optional<std::size_t> choice() const { return choice_; }
  /// The best besides, of another schedule, cluster or number of nodes.
  std::optional<std::size_t> runner_up() const { return runner_up_; }
  /// Comparable ones within the limits than which no other is noticeably better in the objective (with "pareto", in time or cost and as
  /// good in the other), best first.
  std::vector<std::size_t> front() const;
  /// Others within the limits that would be noticeably better with no more samples, best first; those that fresher ones equal are left out.
  std::vector<std::size_t> staler() const;
  /// How many times the samples a staler one could need and still be as good as what is comparable; with "pareto", be neither slower nor
  /// dearer than any of these.
  double break_even(std::size_t staler) const;
  /// What would make the choice fastest: at most two.
  const std::vector<WhatIf>& decides() const { return decides_; }

  bool is_within_limits(const Candidate& candidate) const { return is_within_limits(candidate, 1.0); }
  /// The objective; of "pareto" the hours.
  double value(const Candidate& candidate) const;
  double samples_factor(const Candidate& candidate) const;

  const std::map<std::string, std::size_t>& simulated() const { return simulated_; }  ///< by fidelity
  const std::vector<std::string>& notes() const { return notes_; }
  const std::vector<std::string>& left_out() const { return left_out_; }

  /// A scenario of the candidate, its paths relative to `folder`.
  Json scenario(const Candidate& candidate, const std::filesystem::path& folder) const;

 private:
  using Values = std::vector<std::pair<std::string, Json>>;

  struct Origin {
    std::size_t place;
    int nodes;
    std::size_t schedule;
  };

  Values values_of(const Candidate& candidate) const;
  void simulate_points(const std::vector<Point>& points, const std::function<void(int index, const Outcome&)>& done) const;
  /// The candidate's scenario in that depth, or in the next one that can have it. Nullopt, and a reason, if none can.
  std::optional<std::pair<Scenario, int>> read(const Candidate& candidate, int depth, std::string& reason);
  void simulate(std::vector<std::size_t> indices, int depth);
  void keep(std::size_t index, int depth, const Point& point, const Outcome& outcome);
  void leave_out(const Candidate& candidate, const std::string& reason);

  void simulate_all();
  void tune(const std::vector<Origin>& origins);
  void mark_probes(const std::vector<std::vector<std::size_t>>& searches);
  void deepen(int depth, double margin);
  std::vector<std::size_t> worth_deepening(int depth, double margin) const;
  double disagreement(int depth) const;
  void judge_risk();
  void choose();
  void find_runner_up(const std::vector<std::size_t>& best);
  std::vector<WhatIf> ask_what_decides(const Candidate& candidate);

  bool is_within_limits(const Candidate& candidate, double slack) const;
  bool beats(const Candidate& one, const Candidate& other, double margin, int depth) const;
  bool is_fresher_and_as_good(const Candidate& one, const Candidate& other, int depth) const;
  bool is_noticeably_better(const Candidate& one, const Candidate& other) const;
  std::vector<std::size_t> ranked(bool comparable) const;
  bool is_beaten(const Candidate& candidate, double margin, int depth) const;
  std::vector<double> measures(const Candidate& candidate, Seconds iteration) const;
  double hours_of(const Candidate& candidate, Seconds iteration) const;
  static bool is_deepest(const Candidate& candidate) { return candidate.depth == Candidate::depths - 1; }

  Advice advice_;
  int jobs_;
  std::function<bool()> interrupted_;
  Library library_;
  std::vector<Candidate> candidates_;
  bool is_synthetic_ = false;  ///< the trace
  std::map<std::string, std::size_t> simulated_;
  std::vector<std::string> notes_;
  std::vector<std::string> left_out_;
  std::optional<std::size_t> choice_;
  std::optional<std::size_t> runner_up_;
  std::vector<WhatIf> decides_;
};

}  // namespace syncopate
