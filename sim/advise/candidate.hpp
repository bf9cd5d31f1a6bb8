#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "advise/advice.hpp"
#include "output/row.hpp"

namespace syncopate {

/// A schedule with parameters on some nodes of a cluster, and its results so far.
struct Candidate {
  std::size_t place = 0;
  int nodes = 1;
  Json schedule;
  std::size_t origin = 0;               ///< index of the advice's schedule
  std::optional<std::size_t> search{};  ///< index of the parameter search that asked for it

  int paid_nodes = 1;   ///< includes the nodes of dedicated servers
  bool is_sgd = false;  ///< equivalent to synchronous SGD
  int cycle = 1;        ///< steps after which its pattern repeats
  /// Samples relative to synchronous SGD. 1 if equivalent to it; nullopt: not given.
  std::optional<double> samples_factor{};

  /// Iteration time by depth of fidelity, where simulated.
  static constexpr int depths = 3;  ///< alpha-beta, per message, as deep as `auto` goes
  std::array<std::optional<Seconds>, depths> iteration{};
  int depth = -1;         ///< the deepest simulated fidelity; -1: none
  std::string refusal{};  ///< why it cannot be simulated deeper, or in another world; empty: no failure
  Row row{};              ///< of the deepest simulation

  double hours = 0.0;  ///< until the target, by the deepest simulation
  std::optional<double> cost{};

  /// Results in the worlds of the advice's `risk`.
  struct Risk {
    std::vector<double> hours;  ///< by world
    double mean_hours = 0.0;
    double worst_hours = 0.0;
    double mean_staleness = 0.0;
    /// Regret: share by which its objective is worse than the best one of the same world. Nullopt: not within the limits.
    std::optional<double> worst_regret{};
    std::optional<double> mean_regret{};
  };
  std::optional<Risk> risk{};

  /// Whether its objective can be compared with other candidates'.
  bool is_comparable() const { return samples_factor.has_value(); }
  bool is_deepest() const { return depth == depths - 1; }
};

/// Names of fidelities as in a scenario, by depth.
constexpr std::array<const char*, Candidate::depths> fidelity_of_depth = {"alpha-beta", "per-message", "auto"};

/// "fusion bucket=25MB on 4 nodes of 10gbe".
std::string title(const Candidate& candidate, const Advice& advice);

}  // namespace syncopate
