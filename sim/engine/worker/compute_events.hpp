#pragma once

#include "engine/clock/moment.hpp"
#include "engine/worker/pass.hpp"

namespace syncopate {

/// How a worker's compute is slower than an undisturbed one's.
struct Slowness {
  int worker = 0;
  double always = 1.0;   ///< factor
  double jitter = 1.0;   ///< of the step
  double overlap = 1.0;  ///< of what moves
};

/// A worker has gone on with a pass.
class PassEvent : public Event {
 public:
  /// From so much done to so much, as `pass` counts; its table outlives the event.
  PassEvent(Seconds time, Cause before, const PassLayers& pass, Seconds from, Seconds to, const Slowness& slowness);
  Story tell() const override;

 private:
  PassLayers pass_;
  Seconds from_;
  Seconds to_;
  Slowness slowness_;
};

/// A worker has gone on with its update, by so much.
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
