#include "engine/worker/pass.hpp"

#include <algorithm>

namespace syncopate {

PassTable::PassTable(const StepProfile& profile) {
  forward.total = profile.forward;
  backward.total = profile.backward;
  const std::size_t count = profile.layers.size();
  Seconds elapsed;
  for (const StepProfile::LayerTimes& layer : profile.layers) forward.ends.push_back(std::min(profile.forward, elapsed += layer.forward));
  elapsed = Seconds(0);
  for (std::size_t i = count; i-- > 0;) backward.ends.push_back(std::min(profile.backward, elapsed += profile.layers[i].backward));
  if (count == 0) return;
  forward.ends.back() = profile.forward;
  backward.ends.back() = profile.backward;
  update_shares.resize(count);
  const Bytes bytes = profile.bytes();
  for (const StepProfile::GradientReady& gradient : profile.gradients) update_shares[gradient.layer] += gradient.bytes / bytes;
}

void Pass::begin(Seconds now, double factor) {
  has_begun_ = true;
  done_ = anchor_done_ = Seconds(0);
  reached_at_ = anchor_time_ = layer_start = now;
  factor_ = factor;
  asked = begun = recorded = 0;
  asked_until = Seconds(0);
}

void Pass::anchor(Seconds now) {
  anchor_time_ = now;
  anchor_done_ = done_;
  if (recorded < layers() && done_ <= layer_begin(recorded)) layer_start = now;
}

}  // namespace syncopate
