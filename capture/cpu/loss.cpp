#include "capture/cpu/loss.hpp"

#include <algorithm>
#include <cmath>

#include "capture/random_values.hpp"

namespace syncopate::capture {

CpuLoss::CpuLoss(std::int64_t rows, std::int64_t classes, const float* logits, float* gradient)
    : rows_(rows), classes_(classes), logits_(logits), gradient_(gradient), labels_(random_labels(rows, classes)) {
  probabilities_.resize(static_cast<std::size_t>(rows * classes));
}

void CpuLoss::forward() {
  value_ = 0;
  for (std::int64_t row = 0; row < rows_; ++row) {
    const float* logits = logits_ + row * classes_;
    float* probabilities = probabilities_.data() + row * classes_;
    const float largest = *std::max_element(logits, logits + classes_);
    double sum = 0;
    for (std::int64_t i = 0; i < classes_; ++i) sum += probabilities[i] = std::exp(logits[i] - largest);
    std::transform(probabilities, probabilities + classes_, probabilities, [sum](float x) { return static_cast<float>(x / sum); });
    value_ += (std::log(sum) + largest - logits[labels_[static_cast<std::size_t>(row)]]) / static_cast<double>(rows_);
  }
}

void CpuLoss::backward() const {
  if (gradient_ == nullptr) return;
  const float share = 1.0F / static_cast<float>(rows_);
  std::transform(probabilities_.begin(), probabilities_.end(), gradient_, [share](float p) { return share * p; });
  for (std::int64_t row = 0; row < rows_; ++row) gradient_[row * classes_ + labels_[static_cast<std::size_t>(row)]] -= share;
}

}  // namespace syncopate::capture
