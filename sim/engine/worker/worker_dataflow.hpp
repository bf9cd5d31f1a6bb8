#pragma once

#include <string_view>

#include "dataflow/replica.hpp"
#include "engine/worker/worker_state.hpp"

namespace syncopate {

/// What a worker computes from what, where the job's dataflow is recorded; else all values are empty. Takes no time.
class WorkerDataflow {
 public:
  explicit WorkerDataflow(WorkerState& worker);

  bool is_recorded() const { return worker_.is_recorded(); }
  bool has_momentum() const;

  /// The worker's copy of the model.
  Replica& replica() { return replica_; }
  /// This step's gradient, at the model with which its forward began.
  Values gradient();
  /// The model that this step's gradient is at.
  const Values& computed_on() const { return computed_on_; }
  /// This step's gradient is at the model as it is now: where layers are updated one by one during forward (Pace::updates_in_forward).
  void compute_on_model();

  Values value(const Sum& sum) const;
  /// With error feedback: see Dataflow::compress.
  Values compress(std::string_view way, const Sum& sent, Values& residual) const;

 private:
  friend class Worker;

  void begin_step() { gradient_ = Values(); }
  void begin_forward() {
    if (is_recorded()) computed_on_ = replica_.model();
  }

  WorkerState& worker_;
  Replica replica_;
  Values computed_on_;
  Values gradient_;  ///< this step's, once it has been asked for
};

}  // namespace syncopate
