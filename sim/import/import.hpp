#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.hpp"
#include "import/kineto.hpp"
#include "trace/trace.hpp"

namespace syncopate {

/// A trace made from a profile, with figures about the profile. Times are medians over the steps used.
struct Imported {
  Trace trace;
  std::size_t steps = 0;           ///< number of steps used
  std::size_t steps_left_out = 0;  ///< truncated by the window, or with other operators than most steps
  Seconds forward_busy;            ///< work of all layers
  Seconds backward_busy;
  Seconds backward_of_no_layer;            ///< work in backward outside of every node, such as the sum where two layers read one output
  std::optional<std::int64_t> batch_seen;  ///< batch size seen in the first operator's input
  std::optional<Seconds> period;           ///< from the start of one step's forward to the next one's
};

/// Makes a trace from a profile of a training loop.
///
/// Layer: an outermost forward operator that has nodes in backward. Its times are the times of the kernels that it and its nodes launched,
/// without communication. If the profile only saw the CPU, the operators' own times are used.
///
/// Gradient: ready at the end of the last kernel launched before the end of its AccumulateGrad. Spans and ready times use the GPU's clock
/// and include launch gaps.
///
/// Medians and quartiles are over all steps that run the same operators as most. `model`: name for the result. `batch`: replaces the batch
/// size seen in the first operator's input. Throws InputError that says what the profile lacks and how to record it.
Imported import_profile(const KinetoTrace& profile, const std::string& model, std::optional<std::int64_t> batch);

}  // namespace syncopate
