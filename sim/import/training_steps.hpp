#pragma once

#include <cstddef>
#include <vector>

#include "import/kineto.hpp"

namespace syncopate {

/// One forward and backward pass in a profile. Times are in microseconds, on the profile's clock. Pointers point into the profile. The work
/// of an operator is the kernels that it launched; if the profile only saw the CPU, it is the operator itself.
struct TrainingStep {
  struct Gradient {
    std::size_t layer = 0;                              ///< index into layers
    const KinetoTrace::Operator* accumulate = nullptr;  ///< AccumulateGrad, with the gradient's shape
    double ready = 0;                                   ///< time since backward_start
  };

  /// Outermost forward operators that have nodes in backward, in the order of forward.
  std::vector<const KinetoTrace::Operator*> layers;
  std::vector<double> forward;                      ///< per layer: total duration of its work
  std::vector<double> backward;                     ///< per layer: total duration of the work of its nodes and their AccumulateGrads
  std::vector<std::vector<std::uint32_t>> kernels;  ///< per layer: names of its kernels, without repetition, in launch order
  std::vector<Gradient> gradients;                  ///< in the order in which they become ready
  double forward_start = 0;                         ///< start of the first layer's work
  double forward_end = 0;                           ///< end of the last layer's work
  double backward_start = 0;                        ///< start of the first work in backward
  double backward_end = 0;
  double backward_of_no_layer = 0;  ///< total duration of backward work outside of every node
  double update = 0;                ///< span of the work of the optimiser's steps that follow
  bool whole = true;                ///< false if the forward operator of some gradient is not in the profile
};

/// Finds the steps of a training loop, in order. Communication is left out. Throws InputError that says what the profile lacks.
std::vector<TrainingStep> find_training_steps(const KinetoTrace& profile);

}  // namespace syncopate
