#pragma once

#include <cudnn.h>

#include <map>
#include <string>

namespace syncopate::capture {

/// Algorithm and arithmetic of one pass of a convolution.
template <class Algorithm>
struct ConvolutionChoice {
  Algorithm algorithm = {};
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  std::size_t workspace = 0;  ///< bytes
  std::string name;           ///< empty: this pass never runs
};

/// What was chosen for a network's convolutions, by their shapes: equal ones are tried once and run alike, as in frameworks.
struct ConvolutionChoices {
  std::map<std::string, ConvolutionChoice<cudnnConvolutionFwdAlgo_t>> forward;
  std::map<std::string, ConvolutionChoice<cudnnConvolutionBwdDataAlgo_t>> backward_data;
  std::map<std::string, ConvolutionChoice<cudnnConvolutionBwdFilterAlgo_t>> backward_filter;
};

}  // namespace syncopate::capture
