#pragma once

#include <functional>
#include <string>
#include <vector>

#include "run/path_shares.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// Something of a scenario that could be better than it is.
struct Factor {
  enum class Kind {
    speed,     ///< multiplied by more than 1
    quantity,  ///< multiplied by less than 1
    given,     ///< multiplied by `given`
    limit,     ///< as good as it can be: `limit` says how
  };
  std::string name;  ///< as the scenario's keys are, such as "link.bandwidth"
  Kind kind = Kind::quantity;
  /// Changes the scenario. Limits do not look at the number.
  std::function<void(Scenario& scenario, double factor)> apply;
  double given = 1.0;
  std::string limit{};

  /// As no scenario is.
  bool is_unreal() const { return kind == Kind::limit && limit != "off"; }

  /// On what it multiplies, for a change by a share such as 0.1.
  double factor(double by) const;
};

/// Of all links between nodes; of a fit, of all but its latency.
void scale_network_bandwidth(Cluster& cluster, double factor);

/// All that the scenario has. Of layers, those with most seconds on the critical path, of gradients the largest. Limits come last.
std::vector<Factor> factors_of(const Scenario& scenario, const std::vector<PathShare>& path);

}  // namespace syncopate
