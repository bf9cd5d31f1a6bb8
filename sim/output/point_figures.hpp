#pragma once

#include <optional>
#include <vector>

#include "base/document.hpp"
#include "base/units.hpp"
#include "goodput/goodput.hpp"
#include "metrics/metrics.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// The figures of one of several jobs on a network, per gradient step.
struct JobFigures {
  Seconds iteration;                       ///< beside the other jobs
  std::optional<double> iteration_half{};  ///< of that, as PointFigures::iteration_half
  Seconds alone;                           ///< without them
  Seconds exposed_communication;           ///< beside the other jobs
  double throughput = 0.0;                 ///< samples/s of all workers, beside the other jobs
};

/// The figures that the simulation of a point gives; with several jobs, those of the first. The table in figures.cpp has them by name.
struct PointFigures {
  Metrics metrics{};
  std::optional<Bytes> network_bytes{};       ///< between nodes, per gradient step; empty if no messages are simulated
  std::optional<Bytes> busiest_link_bytes{};  ///< in one direction, per gradient step; empty likewise
  Fidelity fidelity = Fidelity::alpha_beta;
  int workers_simulated = 0;
  int measured_iterations = 0;
  /// Half of the 95% interval of the mean iteration, as a share of it; empty if every cycle is like the last or too little was measured.
  std::optional<double> iteration_half{};
  /// The iteration over the faster and over the slower quartile of usual networks; empty if it was not asked for, or links have no kinds.
  std::optional<Seconds> iteration_fast{};
  std::optional<Seconds> iteration_slow{};
  std::optional<Goodput> goodput{};   ///< of the scenario's run; empty without one
  std::vector<Seconds> replicates{};  ///< the iteration of each replicate, in the order of seeds; empty if there is one
  Json details = Json::object();      ///< what only some points have, for results.json: see RESULTS.md
};

}  // namespace syncopate
