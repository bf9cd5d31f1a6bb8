#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "import/kineto.hpp"
#include "import/parameter_sizes.hpp"
#include "import/training_steps.hpp"
#include "trace/trace.hpp"

namespace syncopate {

/// How to import a profile.
struct ImportSettings {
  std::string model;                              ///< name for the result
  std::optional<std::int64_t> batch;              ///< replaces the batch size seen in the first operator's input
  Clocking clocking = Clocking::wall;             ///< for spans and ready times
  const std::vector<Parameter>* sizes = nullptr;  ///< of all parameters that have a gradient, if the profile has no shapes
  bool needs_sizes = true;                        ///< if false, gradients may be without bytes
};

/// One of the steps of which a trace has the medians.
struct ImportedStep {
  Seconds forward;
  Seconds backward;
  Seconds update;
  std::vector<Seconds> layers;  ///< forward and backward work of each
  /// Duration of each kernel of communication from this forward to the next, in the order of their starts.
  std::vector<Seconds> collectives;
  std::optional<StepNumber> number;  ///< of the training loop's step, if the profile tells it

  Seconds compute() const { return forward + backward + update; }
};

/// A trace made from a profile, with figures about the profile. Times are medians over the steps used.
struct Imported {
  Trace trace;
  Clocking clocking = Clocking::wall;  ///< of spans and ready times
  std::vector<ImportedStep> each_step;
  std::size_t steps = 0;           ///< number of steps used
  std::size_t steps_left_out = 0;  ///< truncated by the window, or with other operators than most steps
  Seconds forward_busy;            ///< work of all layers
  Seconds backward_busy;
  Seconds backward_of_no_layer;            ///< work in backward outside of every node: before PyTorch 1.8 sums of gradients, hooks
  Seconds recomputation;                   ///< work in backward of forward operators that ran again (activation checkpointing)
  std::vector<Seconds> waits;              ///< per layer: for communication; in none of the other times
  Seconds wall;                            ///< forward, backward and update by the clock, without waits for communication
  Seconds device;                          ///< part of that in which the GPU computes; 0 for a CPU
  std::size_t without_gradient = 0;        ///< parameters whose AccumulateGrad had no gradient; they are in no trace
  std::optional<std::int64_t> batch_seen;  ///< batch size seen in the first operator's input
  std::optional<Seconds> period;           ///< from the start of one step's forward to the next one's
  Seconds exposed;                         ///< part of the period in which something communicated and nothing computed
  std::string mixed_modules;               ///< a layer to which `sizes` gave parameters of two modules, or empty
};

/// Makes a trace from a profile of a training loop.
///
/// Layer: an outermost forward operator that has nodes in backward. Its times are the times of the kernels that it and its nodes launched,
/// without communication. If the profile only saw the CPU, the operators' own times are used.
///
/// Gradient: ready at the end of the last kernel launched before the end of its AccumulateGrad. Spans and ready times use the GPU's clock
/// and include launch gaps, but not waits for communication.
///
/// Medians and quartiles are over all steps that run the same operators as most. Throws InputError that says what the profile lacks and how
/// to record it.
Imported import_profile(const KinetoTrace& profile, const ImportSettings& settings);

}  // namespace syncopate
