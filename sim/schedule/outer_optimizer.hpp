#pragma once

#include "base/fields.hpp"
#include "dataflow/dataflow.hpp"
#include "engine/worker/worker.hpp"

namespace syncopate {

/// The optimiser that steps along the mean of what workers have learned. A. Douillard et al., "DiLoCo", 2023, Sec. 2.
struct OuterOptimizer {
  Optimizer optimizer = Optimizer::nesterov;
  double lr = 0.7;
  double momentum = 0.9;

  /// Reads a name, or an object with the name and its figures. Throws InputError.
  void read(const Field& field);

  /// What to subtract from the model. `velocity`: the optimiser's, which this changes.
  Sum operator()(Worker& worker, const Values& mean, Values& velocity) const;
};

}  // namespace syncopate
