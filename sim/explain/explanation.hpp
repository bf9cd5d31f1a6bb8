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

/// A point that has been simulated, and why it took so long.
struct Explained {
  const Point* point = nullptr;
  Row row;
  Fidelity fidelity = Fidelity::alpha_beta;
  std::vector<PathShare> path;

  Seconds iteration() const { return row.metrics.iteration; }
};

/// What came of a change.
struct Effect {
  double by = 0.0;
  std::optional<Seconds> iteration;
  std::string error;
};

/// One thing that was changed, and what came of each change.
struct WhatIf {
  Factor factor;
  std::vector<Effect> effects;

  /// Of the last one; what failed saves nothing.
  double saved(Seconds iteration) const { return effects.back().iteration ? 1.0 - *effects.back().iteration / iteration : 0.0; }
};

/// Of one run: explanations know neither replicates nor "until".
Point as_one_run(Point point);

/// Simulates points that are one run each, `jobs` at a time, each within `limits`. Throws SimulationError, which names the
/// point, and Interrupted when `interrupted` (see run_forked) becomes true.
std::vector<Explained> explain(const std::vector<const Point*>& points, int jobs, const std::function<bool()>& interrupted,
                               const Limits& limits = {});

/// Simulates the point again, in the fidelity that it has, with one thing changed at a time by each of `changes` (0.1: 10% better), sorted
/// by what the last of them saves, limits last. What is beyond `limits` fails. `advance(done, all)` is called as simulations end.
/// Throws Interrupted likewise.
std::vector<WhatIf> ask_what_if(const Explained& base, const std::vector<double>& changes, int jobs,
                                const std::function<void(std::size_t done, std::size_t all)>& advance,
                                const std::function<bool()>& interrupted, const Limits& limits = {});

/// explanation/1 of a point; `scenario`: its file.
Json explanation_json(const std::string& scenario, const Explained& explained, const std::vector<WhatIf>& what_if);
/// Of two points, side by side.
Json explanation_json(const std::string& scenario, const Explained& explained, const Explained& against);

}  // namespace syncopate
