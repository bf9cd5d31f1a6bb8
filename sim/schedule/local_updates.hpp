#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "collective/payload.hpp"
#include "engine/worker/worker.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

/// A node's updates of its own model, layer by layer, beside its GPUs: one at a time; then each updated layer is spread among these, one at
/// a time. Of what is possible the layer nearest to the input comes first.
class LocalUpdates {
 public:
  /// A layer with gradients.
  struct Layer {
    std::size_t index = 0;
    Seconds ready;   ///< the last of its gradients, since backward began, on an undisturbed worker
    Seconds update;  ///< on an undisturbed worker
    SharedPayload model;
  };
  /// `update`: of all layers, each taking its share of the bytes.
  LocalUpdates(const StepProfile& profile, Seconds update);
  /// `last_update`: of the layer that is ready last; others take no time.
  static LocalUpdates of_last(const StepProfile& profile, Seconds last_update);

  /// In the order in which they are ready, none of them empty.
  const std::vector<Layer>& layers() const { return layers_; }

  /// One step's updates of one worker.
  class Step {
   public:
    explicit Step(const LocalUpdates& updates) : updates_(updates), possible_(updates.layers_.size()), done_(updates.layers_.size()) {}

    /// The update of a layer is not possible before that; counted in the order in which layers are ready.
    void hold(std::size_t layer, Seconds until) { possible_[layer] = std::max(possible_[layer], until); }
    void hold_all(Seconds until) {
      for (Seconds& possible : possible_) possible = std::max(possible, until);
    }
    /// Updates and spreads all layers; then blocks until the layer that is ready last has been.
    void end(Worker& worker);
    /// Forward of the step after, each layer when it has been updated and spread.
    void forward(Worker& worker);

   private:
    struct Done {
      Seconds updated;
      Seconds spread;
    };
    void wait(Worker& worker, std::size_t layer) const;

    const LocalUpdates& updates_;
    std::vector<Seconds> possible_;
    std::vector<Done> done_;
  };

 private:
  explicit LocalUpdates(const StepProfile& profile);

  std::vector<Layer> layers_;
  std::vector<std::size_t> depths_;  ///< their indices
};

}  // namespace syncopate
