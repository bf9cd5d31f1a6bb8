#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "collective/payload.hpp"
#include "engine/worker/worker.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

/// A node's updates of its own model, layer by layer, beside its GPUs. One layer is updated at a time; then it is spread among the GPUs,
/// one layer at a time. Of the layers that are possible, the one nearest to the input goes first.
class LocalUpdates {
 public:
  /// A layer with gradients.
  struct Layer {
    std::size_t index = 0;
    Seconds ready;   ///< when its last gradient is ready: since backward began, on an undisturbed worker
    Seconds update;  ///< time of its update on an undisturbed worker
    SharedPayload model;
  };
  /// `update`: time for all layers; each takes its share, by bytes.
  LocalUpdates(const StepProfile& profile, Seconds update);
  /// `last_update`: time for the layer that is ready last; the others take none.
  static LocalUpdates of_last(const StepProfile& profile, Seconds last_update);

  /// Layers with gradients, in the order in which they are ready.
  const std::vector<Layer>& layers() const { return layers_; }

  /// One step's updates of one worker.
  class Step {
   public:
    explicit Step(const LocalUpdates& updates) : updates_(updates), possible_(updates.layers_.size()), done_(updates.layers_.size()) {}

    /// The update of a layer is not possible before `until`. `layer`: its position in layers().
    void hold(std::size_t layer, Seconds until) { possible_[layer] = std::max(possible_[layer], until); }
    void hold_all(Seconds until) {
      for (Seconds& possible : possible_) possible = std::max(possible, until);
    }
    /// Updates and spreads all layers; blocks until that is done for the layer that is ready last.
    void end(Worker& worker);
    /// The next step's forward: each layer when it has been updated and spread.
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
  std::vector<std::size_t> depths_;  ///< by layer: its index
};

}  // namespace syncopate
