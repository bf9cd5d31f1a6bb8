#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "advise/advice.hpp"
#include "output/row.hpp"

namespace syncopate {

/// A schedule with its parameters on so many nodes of a cluster, and what is known of it.
struct Candidate {
  std::size_t place = 0;
  int nodes = 1;
  Json schedule;
  std::size_t origin = 0;               ///< which of the advice's schedules it comes from
  std::optional<std::size_t> search{};  ///< for the best values of parameters, that asked for it

  int paid_nodes = 1;   ///< with servers that have nodes of their own
  bool is_sgd = false;  ///< trains as synchronous SGD does
  int cycle = 1;        ///< steps after which its pattern repeats
  /// How many times the samples it needs: 1 where it trains as synchronous SGD does; nullopt: nobody has said.
  std::optional<double> samples_factor{};

  /// In a fidelity of this depth: the iteration, where that has been simulated.
  static constexpr int depths = 3;  ///< alpha-beta, per message, as deep as `auto` goes
  std::array<std::optional<Seconds>, depths> iteration{};
  int depth = -1;         ///< the deepest that has been simulated; -1: none
  std::string refusal{};  ///< why it cannot be simulated deeper, or in another world; empty where nothing has failed
  Row row{};              ///< that of the deepest

  double hours = 0.0;  ///< until the target, in the deepest
  std::optional<double> cost{};

  /// In the worlds of the advice's `risk`.
  struct Risk {
    std::vector<double> hours;  ///< in each
    double mean_hours = 0.0;
    double worst_hours = 0.0;
    double mean_staleness = 0.0;
    /// How much worse than the best of each world its objective is; nullopt: it is not within the limits.
    std::optional<double> worst_regret{};
    std::optional<double> mean_regret{};
  };
  std::optional<Risk> risk{};

  /// With others: by the objective.
  bool is_comparable() const { return samples_factor.has_value(); }
  bool is_deepest() const { return depth == depths - 1; }
};

/// As a scenario calls them.
constexpr std::array<const char*, Candidate::depths> fidelity_of_depth = {"alpha-beta", "per-message", "auto"};

/// "fusion bucket=25MB on 4 nodes of 10gbe".
std::string title(const Candidate& candidate, const Advice& advice);

}  // namespace syncopate
