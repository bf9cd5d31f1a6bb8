#pragma once

#include <cstddef>
#include <vector>

#include "engine/worker/speed.hpp"
#include "timeline/timeline.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

/// When each layer of an undisturbed pass ends, in the order of the pass. The last one ends with it.
struct PassTable {
  explicit PassTable(const StepProfile& profile);

  struct Layers {
    std::vector<Seconds> ends;
    Seconds total;
  };
  Layers forward;
  Layers backward;                    ///< from the last layer to the first one
  std::vector<double> update_shares;  ///< by layer, of the update: its gradients' share of the bytes
};

/// The layers of forward or backward in the order in which they come there.
class PassLayers {
 public:
  PassLayers(const PassTable::Layers& layers, Phase phase) : layers_(&layers), phase_(phase) {}

  Phase phase() const { return phase_; }
  Seconds total() const { return layers_->total; }
  std::size_t layers() const { return layers_->ends.size(); }
  /// Of the layer `number` of the pass.
  Seconds layer_begin(std::size_t number) const { return number == 0 ? Seconds(0) : layers_->ends[number - 1]; }
  Seconds layer_end(std::size_t number) const { return layers_->ends[number]; }
  /// Its index in the network.
  std::size_t layer_index(std::size_t number) const { return phase_ == Phase::forward ? number : layers() - 1 - number; }

 private:
  const PassTable::Layers* layers_;
  Phase phase_;
};

/// A worker's way through forward or backward, of which so much is done as an undisturbed worker counts it. From an anchor on, the
/// point where it last began, stood still or changed its pace, it goes on without a break.
class Pass : public PassLayers {
 public:
  using PassLayers::PassLayers;

  void begin(Seconds now, double factor);
  bool has_begun() const { return has_begun_; }
  void end() { has_begun_ = false; }

  Seconds done() const { return done_; }
  /// How much longer it takes now than an undisturbed one.
  double pace() const { return factor_; }

  /// When so much will be done if nothing holds it up.
  Seconds time_of(Seconds done, const std::vector<Pause>& pauses) const {
    return end_of_compute(anchor_time_, factor_ * (done - anchor_done_), pauses);
  }
  /// So much is done at `time`.
  void reach(Seconds done, Seconds time) {
    done_ = done;
    reached_at_ = time;
  }
  /// It goes on from here at `now`, if it has stood still.
  void resume(Seconds now) {
    if (now > reached_at_) anchor(now);
  }
  /// It goes on from here at another pace.
  void change_pace(Seconds now, double factor) {
    anchor(now);
    factor_ = factor;
  }

  std::size_t asked = 0;     ///< layers that were asked for one by one ...
  Seconds asked_until;       ///< ... until so much was done
  std::size_t begun = 0;     ///< layers that have begun, where their paces differ
  std::size_t recorded = 0;  ///< layers in the timeline
  Seconds layer_start;       ///< when the first layer that is not recorded began

 private:
  void anchor(Seconds now);

  bool has_begun_ = false;
  Seconds done_;
  Seconds reached_at_;
  Seconds anchor_time_;
  Seconds anchor_done_;
  double factor_ = 1.0;
};

}  // namespace syncopate
