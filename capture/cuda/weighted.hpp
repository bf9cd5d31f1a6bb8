#pragma once

#include "capture/cuda/normalization_kernels.hpp"
#include "capture/cuda/op.hpp"

namespace syncopate::capture {

/// A layer with weights, its first parameter, and perhaps a bias, its second.
class Weighted : public CudaOp {
 public:
  using CudaOp::CudaOp;

 protected:
  void add_weight_and_bias(bool channels_last);
  bool has_bias() const { return parameters_.size() > 1; }
  const CudaParameter& weight() const { return parameters_[0]; }
  const CudaParameter& bias() const { return parameters_[1]; }
  /// Sums the output's gradient over its rows, each as long as the bias.
  void sum_bias_gradient() const;

 private:
  DeviceMemory bias_sums_;  // in fp32, where the gradient is not
};

}  // namespace syncopate::capture
