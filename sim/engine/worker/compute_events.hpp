#pragma once

#include "engine/clock/moment.hpp"
#include "engine/worker/pass.hpp"

namespace syncopate {

/// Factors on a worker's compute.
struct Slowness {
  int worker = 0;
  double always = 1.0;   ///< of a slow worker
  double jitter = 1.0;   ///< of this step
  double overlap = 1.0;  ///< of traffic at the layer's start
};

/// A worker has gone on with a pass.
class PassEvent : public Event {
 public:
  /// The worker has gone on from `from` to `to`, as `pass` counts; its table and the map `own` outlive the event.
  PassEvent(Seconds time, Cause before, const PassLayers& pass, const PassMap* own, Seconds from, Seconds to, const Slowness& slowness);
  Story tell() const override;

 private:
  PassLayers pass_;
  const PassMap* own_;
  Seconds from_;
  Seconds to_;
  Slowness slowness_;
};

/// A worker has gone on with its update, by what takes an undisturbed worker so long.
class UpdateEvent : public Event {
 public:
  UpdateEvent(Seconds time, Cause before, Seconds undisturbed, const Slowness& slowness)
      : Event(time, std::move(before)), undisturbed_(undisturbed), slowness_(slowness) {}
  Story tell() const override;

 private:
  Seconds undisturbed_;
  Slowness slowness_;
};

}  // namespace syncopate
