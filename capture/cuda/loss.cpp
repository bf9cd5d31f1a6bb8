#include "capture/cuda/loss.hpp"

#include "capture/random_values.hpp"

namespace syncopate::capture {

CudaLoss::CudaLoss(const CudaTools& tools, const Logits& shape, const void* logits, void* gradient)
    : tools_(tools), shape_(shape), logits_(logits), gradient_(gradient) {
  const std::int64_t rows = shape.outer * shape.inner;
  const std::vector<std::int64_t> drawn = random_labels(rows, shape.classes);
  const std::vector<std::int32_t> labels(drawn.begin(), drawn.end());
  const std::size_t bytes = labels.size() * sizeof(std::int32_t);
  labels_ = tools.allocate(static_cast<std::int64_t>(bytes));
  copy_to_device(labels_.data(), labels.data(), bytes, tools.stream);
  log_sums_ = tools.allocate(rows * number_bytes(Number::fp32));
}

void CudaLoss::forward(double* loss) const {
  cross_entropy(tools_.queue(), logits_, shape_, labels_.as<std::int32_t>(), log_sums_.as<float>(), loss);
}

void CudaLoss::backward() const {
  if (gradient_ == nullptr) return;
  cross_entropy_backward(tools_.queue(), logits_, shape_, labels_.as<std::int32_t>(), log_sums_.as<float>(), gradient_);
}

}  // namespace syncopate::capture
