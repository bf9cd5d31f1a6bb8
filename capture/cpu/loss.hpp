#pragma once

#include <cstdint>
#include <vector>

namespace syncopate::capture {

/// The mean cross entropy of softmax over rows of `classes` numbers, with random labels.
class CpuLoss {
 public:
  /// `gradient` is null where backward does not run.
  CpuLoss(std::int64_t rows, std::int64_t classes, const float* logits, float* gradient);

  void forward();
  void backward() const;
  double value() const { return value_; }

 private:
  std::int64_t rows_;
  std::int64_t classes_;
  const float* logits_;
  float* gradient_;
  std::vector<std::int64_t> labels_;
  std::vector<float> probabilities_;
  double value_ = 0;
};

}  // namespace syncopate::capture
