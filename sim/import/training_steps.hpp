#pragma once

#include <cstddef>
#include <vector>

#include "import/kineto.hpp"

namespace syncopate {

/// One pass through forward and backward in a profile. Times in microseconds on the profile's clock; layers point into it. Where the
/// profile saw the CPU only, the work of an operator is the operator itself, else the kernels that it launched.
struct TrainingStep {
  struct Gradient {
    std::size_t layer = 0;                              ///< index into layers
    const KinetoTrace::Operator* accumulate = nullptr;  ///< AccumulateGrad, with the gradient's shape
    double ready = 0;                                   ///< since backward_start
  };

  /// Outermost forward operators that have nodes in backward, in the order of forward.
  std::vector<const KinetoTrace::Operator*> layers;
  std::vector<double> forward;                      ///< per layer: durations of its work
  std::vector<double> backward;                     ///< per layer: of its nodes' work and of the AccumulateGrads behind them
  std::vector<std::vector<std::uint32_t>> kernels;  ///< per layer: names of its kernels, each once, in the order of their launch
  std::vector<Gradient> gradients;                  ///< in the order in which they become ready
  double forward_start = 0;                         ///< of the first work of a layer
  double forward_end = 0;                           ///< of the last
  double backward_start = 0;                        ///< of the first work of backward
  double backward_end = 0;
  double backward_of_no_layer = 0;  ///< durations of work in backward outside every node
  double update = 0;                ///< span of the work of the optimiser's steps that follow
  bool whole = true;                ///< false when a gradient's forward operator is not in the profile
};

/// Finds the steps of a training loop, in order, communication left out. Throws InputError that says what the profile lacks.
std::vector<TrainingStep> find_training_steps(const KinetoTrace& profile);

}  // namespace syncopate
