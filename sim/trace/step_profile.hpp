#pragma once

#include <string>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

struct Trace;

/// What counts as one gradient: each parameter tensor, or all tensors of a layer together (bytes added, ready with the
/// last of them).
enum class Granularity { tensor, layer };

/// One iteration's work on one undisturbed worker, derived from a trace.
struct StepProfile {
  struct LayerTimes {
    std::string name;
    Seconds forward;   ///< stretched so that the layers fill the forward span
    Seconds backward;  ///< likewise backward
  };
  struct GradientReady {
    std::string name;
    Bytes bytes;
    Seconds ready;          ///< since backward began, nondecreasing
    std::size_t layer = 0;  ///< index into layers
  };

  std::vector<LayerTimes> layers;        ///< in forward order
  std::vector<GradientReady> gradients;  ///< in the order in which they become ready
  Seconds forward;                       ///< span of forward
  Seconds backward;                      ///< span of backward, >= the last ready
  Seconds update;

  /// compute_s of the results: forward + backward + update.
  Seconds compute() const { return forward + backward + update; }
  Bytes bytes() const;
};

/// Forward lasts `iteration.forward_s`, else the sum over layers; backward lasts `iteration.backward_s`, else the last
/// `ready_s`, else the sum over layers. Layer times stretch evenly to the span. Without `ready_s` a gradient is ready
/// when its layer's (stretched) backward ends.
StepProfile step_profile(const Trace& trace, Granularity granularity);

}  // namespace syncopate
