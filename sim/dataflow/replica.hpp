#pragma once

#include <vector>

#include "dataflow/dataflow.hpp"

namespace syncopate {

/// A copy of the model, as a worker or the servers have it, and the state of its optimiser. Empty, and nothing happens to it, where
/// nothing is recorded.
class Replica {
 public:
  Replica() = default;
  /// Of the initial model; `flow` may be null. `makers`: whether there are other replicas to which the same happens.
  Replica(Dataflow* flow, Dataflow::Makers makers);

  const Values& model() const { return model_; }
  /// Those parts of the model that `model` has are now that.
  void become(const Sum& model);
  /// The optimiser's step along a gradient of some parts: x - lr g where that is SGD.
  void step(const Sum& gradient);
  /// DC-ASGD's step instead, with the model that the gradient was computed on.
  void compensated_step(const Sum& gradient, const Values& computed_on);

 private:
  Dataflow* flow_ = nullptr;
  Dataflow::Makers makers_ = Dataflow::Makers::one;
  Values model_;
  std::vector<Values> state_;  ///< of the optimiser
};

}  // namespace syncopate
