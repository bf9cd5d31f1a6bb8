#pragma once

#include "capture/cuda/op.hpp"

namespace syncopate::capture {

/// The mean cross entropy of softmax over rows of classes, with random labels.
class CudaLoss {
 public:
  /// `gradient` is null where backward does not run.
  CudaLoss(const CudaTools& tools, const Logits& shape, const void* logits, void* gradient);

  void forward(double* loss) const;  ///< adds to what lies there on the device
  void backward() const;

 private:
  const CudaTools& tools_;
  Logits shape_;
  const void* logits_;
  void* gradient_;
  DeviceMemory labels_;
  DeviceMemory log_sums_;
};

}  // namespace syncopate::capture
