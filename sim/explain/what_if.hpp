#pragma once

#include <functional>
#include <string>
#include <vector>

#include "run/path_shares.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// A quantity of a scenario that could be better, such as a link's bandwidth.
struct Factor {
  enum class Kind {
    speed,     ///< better when multiplied by more than 1
    quantity,  ///< better when multiplied by less than 1
    given,     ///< always multiplied by `given`
    limit,     ///< set to its best value; `limit` names it
  };
  std::string name;  ///< like the scenario's keys, such as "link.bandwidth"
  Kind kind = Kind::quantity;
  /// Changes the scenario. Limits ignore `factor`.
  std::function<void(Scenario& scenario, double factor)> apply;
  double given = 1.0;
  std::string limit{};

  /// Whether no real system could have it, such as a free network.
  bool is_unreal() const { return kind == Kind::limit && limit != "off"; }

  /// The multiplier for a change by a share such as 0.1: 1.1 for a speed, 0.9 for a quantity.
  double factor(double by) const;
};

/// Multiplies the bandwidth of all links between nodes. Of a measured fit it scales everything but the latency.
void scale_network_bandwidth(Cluster& cluster, double factor);

/// All factors of a scenario, limits last. Only the ten layers with most time on the critical path and the ten largest gradients are
/// included.
std::vector<Factor> factors_of(const Scenario& scenario, const std::vector<PathShare>& path);

}  // namespace syncopate
