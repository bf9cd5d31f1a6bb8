#pragma once

#include "base/fields.hpp"
#include "dataflow/dataflow.hpp"
#include "engine/worker/worker.hpp"

namespace syncopate {

/// What steps along the mean of what workers have learned. A. Douillard et al., "DiLoCo", 2023, Sec. 2.
struct OuterOptimizer {
  Optimizer optimizer = Optimizer::nesterov;
  double lr = 0.7;
  double momentum = 0.9;

  /// A name, or an object with it and the figures. Throws InputError.
  void read(const Field& field);

  /// How far the model goes back; `velocity`: what has been before, and is from now on.
  Sum operator()(Worker& worker, const Values& mean, Values& velocity) const;
};

}  // namespace syncopate
