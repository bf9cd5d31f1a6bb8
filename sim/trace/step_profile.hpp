#pragma once

#include <string>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

struct Trace;

/// What counts as one gradient. `tensor`: each parameter tensor. `layer`: all tensors of a layer; bytes are added, and it is ready with the
/// last of them.
enum class Granularity { tensor, layer };

/// The work of one iteration on one undisturbed worker, derived from a trace.
struct StepProfile {
  struct LayerTimes {
    std::string name;
    Seconds forward;   ///< stretched so that all layers fill the forward span
    Seconds backward;  ///< stretched so that all layers fill the backward span
  };
  struct GradientReady {
    std::string name;
    Bytes bytes;
    Seconds ready;                          ///< time since backward began; non-decreasing
    std::size_t layer = 0;                  ///< index into layers
    std::vector<std::string> parameters{};  ///< of a layer's gradient, the tensors' names; empty: it is one tensor, of its name

    std::vector<std::string> names() const { return parameters.empty() ? std::vector{name} : parameters; }
  };

  std::vector<LayerTimes> layers;        ///< in forward order
  std::vector<GradientReady> gradients;  ///< in the order in which they become ready
  Seconds forward;                       ///< span of forward
  Seconds backward;                      ///< span of backward, at least the last `ready`
  Seconds update;

  /// The figure compute_s: forward + backward + update.
  Seconds compute() const { return forward + backward + update; }
  Bytes bytes() const;
};

/// Derives the profile of a step.
///
/// Forward lasts `iteration.forward_s`, else the sum over layers. Backward lasts `iteration.backward_s`, else the last `ready_s`, else the
/// sum over layers. Layer times are stretched evenly to the span. A gradient without `ready_s` is ready when its layer's stretched backward
/// ends.
StepProfile step_profile(const Trace& trace, Granularity granularity);

}  // namespace syncopate
