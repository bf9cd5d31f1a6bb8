#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.hpp"
#include "import/kineto.hpp"
#include "trace/trace.hpp"

namespace syncopate {

/// What the steps of a profile have in common.
struct Imported {
  Trace trace;
  std::size_t steps = 0;           ///< used; medians are over them
  std::size_t steps_left_out = 0;  ///< cut off by the window, or other operators than most
  Seconds forward_busy;            ///< work of the layers; medians
  Seconds backward_busy;
  Seconds backward_of_no_layer;            ///< work in backward outside every node, such as sums where a layer's output has two readers
  std::optional<std::int64_t> batch_seen;  ///< what the first operator's input shows
  std::optional<Seconds> period;           ///< from one step's forward to the next's
};

/// Makes a trace from a profile of a training loop. A layer is an outermost forward operator that has nodes in backward; its times are
/// those of the kernels launched by it and by its nodes, communication left out. A gradient is ready at the end of the last kernel
/// launched up to its AccumulateGrad. Spans and ready times are on the GPU's clock, launch gaps included. Where the profile saw the CPU
/// only, the operators' own times take the place of their kernels'. Medians and quartiles are over all steps that run the same operators
/// as most. `model` names the result; `batch` replaces the one that the first operator's input shows. Throws InputError that says what
/// the profile lacks and how to record it.
Imported import_profile(const KinetoTrace& profile, const std::string& model, std::optional<std::int64_t> batch);

}  // namespace syncopate
