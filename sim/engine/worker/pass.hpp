#pragma once

#include <cstddef>
#include <vector>

#include "engine/worker/own_step.hpp"
#include "engine/worker/speed.hpp"
#include "timeline/timeline.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

/// When each layer of an undisturbed pass ends, in the order of the pass. The last layer ends with the pass.
struct PassTable {
  explicit PassTable(const StepProfile& profile);

  struct Layers {
    std::vector<Seconds> ends;
    Seconds total;
  };
  Layers forward;
  Layers backward;                    ///< from the last layer to the first one
  std::vector<double> update_shares;  ///< by layer: its share of the update, which is its gradients' share of the bytes
};

/// The layers of forward or backward, numbered in the order of the pass.
class PassLayers {
 public:
  PassLayers(const PassTable::Layers& layers, Phase phase) : layers_(&layers), phase_(phase) {}

  Phase phase() const { return phase_; }
  Seconds total() const { return layers_->total; }
  std::size_t layers() const { return layers_->ends.size(); }
  Seconds layer_begin(std::size_t number) const { return number == 0 ? Seconds(0) : layers_->ends[number - 1]; }
  Seconds layer_end(std::size_t number) const { return layers_->ends[number]; }
  /// The layer's index in the network, counted from the input.
  std::size_t layer_index(std::size_t number) const { return phase_ == Phase::forward ? number : layers() - 1 - number; }

 private:
  const PassTable::Layers* layers_;
  Phase phase_;
};

/// A worker's way through forward or backward. How much of it is done is counted in an undisturbed worker's time. An anchor is the point
/// where the pass last began, stood still or changed its pace; from there it goes on without a break.
class Pass : public PassLayers {
 public:
  /// `own`: the times of a worker whose device is another one than the job's; null: the job's. Must outlive the pass.
  Pass(const PassTable::Layers& layers, Phase phase, const PassMap* own) : PassLayers(layers, phase), own_(own) {}

  void begin(Seconds now, double factor);
  bool has_begun() const { return has_begun_; }
  void end() { has_begun_ = false; }

  Seconds done() const { return done_; }
  /// How many times longer than undisturbed it takes now.
  double pace() const { return factor_; }

  /// When so much will be done, if nothing but the pauses holds it up.
  Seconds time_of(Seconds done, const std::vector<Pause>& pauses) const {
    return end_of_compute(anchor_time_, factor_ * own_time(anchor_done_, done), pauses);
  }
  /// How long the worker itself takes, undisturbed, from where so much is done to there.
  Seconds own_time(Seconds from, Seconds to) const { return time_between(own_, from, to); }
  const PassMap* own() const { return own_; }
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

  std::size_t asked = 0;     ///< how many layers the program has asked for one by one ...
  Seconds asked_until;       ///< ... and how much is done at their end
  std::size_t begun = 0;     ///< how many layers have begun, where their paces differ
  std::size_t recorded = 0;  ///< layers in the timeline
  Seconds layer_start;       ///< when the first layer that is not recorded began

 private:
  void anchor(Seconds now);

  const PassMap* own_;
  bool has_begun_ = false;
  Seconds done_;
  Seconds reached_at_;
  Seconds anchor_time_;
  Seconds anchor_done_;
  double factor_ = 1.0;
};

}  // namespace syncopate
