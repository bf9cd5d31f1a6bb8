#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "import/kineto.hpp"

namespace syncopate {

/// What counts as the duration of a stretch of compute.
enum class Clocking : std::uint8_t {
  wall,   ///< all of it but waits for communication
  device  ///< the time in which GPU kernels compute, as if launches took none
};

/// The place of a step in the training loop, the same for all ranks.
struct StepNumber {
  std::int64_t mark = 0;  ///< N of the "ProfilerStep#N" in which forward begins
  std::size_t pass = 0;   ///< of this mark's passes, from 0

  auto operator<=>(const StepNumber&) const = default;
};

/// One forward and backward pass in a profile. Pointers point into the profile. The work of an operator is the kernels that it launched; if
/// the profile only saw the CPU, it is the operator itself. Kernels of communication are no work.
struct TrainingStep {
  struct Gradient {
    std::size_t layer = 0;                              ///< index into layers
    const KinetoTrace::Operator* accumulate = nullptr;  ///< AccumulateGrad, with the gradient's shape
    Seconds ready;                                      ///< since backward began
  };

  /// Outermost forward operators that have nodes in backward, in the order of forward.
  std::vector<const KinetoTrace::Operator*> layers;
  std::vector<Seconds> forward;                     ///< per layer: total duration of its work
  std::vector<Seconds> backward;                    ///< per layer: of the work of its nodes, their AccumulateGrads and its recomputation
  std::vector<Seconds> waits;                       ///< per layer: for communication; in none of the times here
  std::vector<std::vector<std::uint32_t>> kernels;  ///< per layer: names of its kernels, without repetition, in launch order
  std::vector<Gradient> gradients;                  ///< in the order in which they become ready
  std::size_t without_gradient = 0;                 ///< number of parameters whose AccumulateGrad had none
  Seconds forward_start;                            ///< start of the first layer's work
  Seconds forward_span;                             ///< to the end of the last layer's work
  Seconds backward_span;                            ///< of all work in backward
  Seconds backward_of_no_layer;                     ///< total duration of backward work outside of every node
  Seconds recomputation;                            ///< work of forward operators that ran again in backward
  Seconds update;                                   ///< span of the work of the optimiser's steps that follow
  Seconds wall;                                     ///< the three spans without waits for communication, whatever the clocking
  Seconds device;                                   ///< part of the three spans in which the GPU computes
  bool whole = true;                                ///< false if the forward operator of some gradient is not in the profile

  std::optional<StepNumber> number;  ///< nullopt: forward begins in no ProfilerStep#N
  std::vector<Seconds>
      collectives;  ///< duration of each kernel of communication from this forward to the next, in the order of their starts
  /// From the start of this forward to that of the next one; the last step has none.
  std::optional<Seconds> period;
  Seconds exposed;  ///< part of the period in which communication moved, nothing computed, and no span above goes on
};

/// Finds the steps of a training loop, in order. Throws InputError that says what the profile lacks.
std::vector<TrainingStep> find_training_steps(const KinetoTrace& profile, Clocking clocking);

}  // namespace syncopate
