#include <algorithm>

#include "capture/cpu/makers.hpp"

namespace syncopate::capture {

namespace {

/// One row of the table per id. Ids are drawn for the model's largest table; a smaller table takes them modulo its size.
class Embedding : public CpuOp {
 public:
  explicit Embedding(const CpuLayer& layer) : CpuOp(layer) {
    const Shape& table = layer.layer.tensors[0].shape;
    entries_ = table[0];
    width_ = table[1];
    add_parameter(matrix_desc(entries_, width_), {entries_, width_});
  }

  void forward() override {
    const float* table = data(parameters_[0].value);
    for (std::int64_t token = 0; token < layer_.rows(); ++token)
      std::copy_n(table + id(token) * width_, width_, layer_.output + token * width_);
  }

  void backward() override {
    float* gradient = data(parameters_[0].gradient);
    if (!layer_.adds_to_gradient) std::fill_n(gradient, entries_ * width_, 0.0F);
    for (std::int64_t token = 0; token < layer_.rows(); ++token) {
      float* row = gradient + id(token) * width_;
      std::transform(row, row + width_, layer_.output_gradient + token * width_, row, std::plus<>());
    }
  }

 private:
  std::int64_t id(std::int64_t token) const { return static_cast<std::int64_t>(layer_.inputs[0][token]) % entries_; }

  std::int64_t entries_;
  std::int64_t width_;
};

}  // namespace

std::unique_ptr<CpuOp> make_embedding(const CpuLayer& layer) { return std::make_unique<Embedding>(layer); }

}  // namespace syncopate::capture
