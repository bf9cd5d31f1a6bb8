#pragma once

#include <vector>

#include "dataflow/dataflow.hpp"

namespace syncopate {

/// A copy of the model, held by a worker or by the servers, with the optimiser's state. Without recording it is empty, and its operations
/// do nothing.
class Replica {
 public:
  Replica() = default;
  /// Starts from the initial model. `flow` may be null. `makers`: whether other replicas go through the same operations.
  Replica(Dataflow* flow, Dataflow::Makers makers);

  const Values& model() const { return model_; }
  /// Replaces the parts of the model that `model` has.
  void become(const Sum& model);
  /// Takes one optimiser step along a gradient of some parts. SGD: x - lr g.
  void step(const Sum& gradient);
  /// The same with DC-ASGD's compensation. `computed_on`: the model at which the gradient was computed.
  void compensated_step(const Sum& gradient, const Values& computed_on);

 private:
  Dataflow* flow_ = nullptr;
  Dataflow::Makers makers_ = Dataflow::Makers::one;
  Values model_;
  std::vector<Values> state_;  ///< of the optimiser
};

}  // namespace syncopate
