#pragma once

#include <map>
#include <memory>
#include <string>

#include "capture/cuda/convolution_plan.hpp"

namespace syncopate::capture {

/// How one pass of a convolution runs.
struct ConvolutionChoice {
  std::shared_ptr<const ConvolutionEngines> engines;  ///< of which the plan is one
  std::shared_ptr<const ConvolutionPlan> plan;
  std::size_t workspace = 0;  ///< bytes
  std::string name;           ///< empty: this pass never runs
};

/// What was chosen for a network's convolutions, by pass and shapes: equal ones are tried once and run alike, as in frameworks.
using ConvolutionChoices = std::map<std::string, ConvolutionChoice>;

}  // namespace syncopate::capture
