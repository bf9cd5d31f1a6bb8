#include "capture/cuda/makers.hpp"

namespace syncopate::capture {

namespace {

/// One row of the table per id. Ids are drawn for the model's largest table; a smaller table takes them modulo its size.
class Embedding : public CudaOp {
 public:
  explicit Embedding(const CudaLayer& layer) : CudaOp(layer) {
    const CudaParameter& table = add_parameter();
    entries_ = table.shape[0];
    width_ = table.shape[1];
    if (table.number != Number::fp32) sums_ = layer.tools.allocate(sums_bytes());
  }

  void forward() override { look_up(queue(), parameters_[0].value.data(), ids(), layer_.output, tokens(), entries_, width_); }

  void backward() override {
    const CudaParameter& table = parameters_[0];
    auto* sums = sums_.data() == nullptr ? table.gradient.as<float>() : sums_.as<float>();
    if (!layer_.adds_to_gradient()) {
      zero(sums, sums_bytes());
    } else if (sums_.data() != nullptr) {
      convert(queue().stream, table.gradient.data(), table.number, sums, Number::fp32, table.count());
    }
    look_up_backward(queue(), layer_.output_gradient, ids(), sums, tokens(), entries_, width_);
    if (sums_.data() != nullptr) convert(queue().stream, sums, Number::fp32, table.gradient.data(), table.number, table.count());
  }

 private:
  const std::int32_t* ids() const { return static_cast<const std::int32_t*>(layer_.inputs[0]); }
  std::int64_t tokens() const { return layer_.input_elements(0); }
  std::int64_t sums_bytes() const { return entries_ * width_ * number_bytes(Number::fp32); }

  std::int64_t entries_;
  std::int64_t width_;
  DeviceMemory sums_;  // in fp32; unused if the gradient is in fp32 itself
};

}  // namespace

std::unique_ptr<CudaOp> make_cuda_embedding(const CudaLayer& layer) { return std::make_unique<Embedding>(layer); }

}  // namespace syncopate::capture
