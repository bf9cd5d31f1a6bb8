#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "explain/what_if.hpp"
#include "output/row.hpp"
#include "run/path_shares.hpp"
#include "run/point.hpp"

namespace syncopate {

/// A simulated point with the critical path of its iteration.
struct Explained {
  const Point* point = nullptr;
  Row row;
  Fidelity fidelity = Fidelity::alpha_beta;
  std::vector<PathShare> path;

  Seconds iteration() const { return row.metrics.iteration; }
};

/// The result of one change.
struct Effect {
  double by = 0.0;                   ///< share by which the factor is better, such as 0.1
  std::optional<Seconds> iteration;  ///< nullopt: the simulation failed
  std::string error;                 ///< why it failed
};

/// A factor with the result of each change.
struct WhatIf {
  Factor factor;
  std::vector<Effect> effects;

  /// Share of the iteration time that the last change saves. 0 if its simulation failed.
  double saved(Seconds iteration) const { return effects.back().iteration ? 1.0 - *effects.back().iteration / iteration : 0.0; }
};

/// The point without replicates and "until", which explanations do not support.
Point as_one_run(Point point);

/// Simulates points (see as_one_run), `jobs` at a time, each within `limits`. Throws SimulationError with the point's number, and
/// Interrupted when `interrupted` (see run_forked) becomes true.
std::vector<Explained> explain(const std::vector<const Point*>& points, int jobs, const std::function<bool()>& interrupted,
                               const Limits& limits = {});

/// Simulates the point again in the same fidelity, with one factor changed at a time, once for each of `changes` (0.1: 10% better). The
/// result is sorted by what the last change saves, limits last. A simulation beyond `limits` fails. Calls `advance(done, all)` as
/// simulations end. Throws Interrupted as `explain` does.
std::vector<WhatIf> ask_what_if(const Explained& base, const std::vector<double>& changes, int jobs,
                                const std::function<void(std::size_t done, std::size_t all)>& advance,
                                const std::function<bool()>& interrupted, const Limits& limits = {});

/// explanation/1 of a point. `scenario`: the scenario's file.
Json explanation_json(const std::string& scenario, const Explained& explained, const std::vector<WhatIf>& what_if);
/// explanation/1 of two points side by side.
Json explanation_json(const std::string& scenario, const Explained& explained, const Explained& against);

}  // namespace syncopate
