// Ops that only move or add numbers.
#include "capture/cuda/makers.hpp"

namespace syncopate::capture {

namespace {

/// Backward does nothing: the gradients of all inputs are the output's gradient, in the same memory.
class Add : public CudaOp {
 public:
  explicit Add(const CudaLayer& layer) : CudaOp(layer), terms_(layer.inputs.begin(), layer.inputs.end()) {}
  void forward() override { sum(queue(), terms_, layer_.output, layer_.output_elements()); }
  void backward() override {}

 private:
  std::vector<const void*> terms_;
};

/// Joins channels of images or the width of tokens.
class Concat : public CudaOp {
 public:
  using CudaOp::CudaOp;

  void forward() override {
    std::int64_t place = 0;
    for (std::size_t slot = 0; slot < layer_.inputs.size(); ++slot) {
      copy_rows(queue(), layer_.inputs[slot], run(layer_.shapes[slot]), moved(layer_.output, place), run(layer_.layer.output), rows_,
                run(layer_.shapes[slot]));
      place += run(layer_.shapes[slot]);
    }
  }

  void backward() override {
    std::int64_t place = 0;
    for (std::size_t slot = 0; slot < layer_.inputs.size(); ++slot) {
      if (layer_.input_gradients[slot] != nullptr) {
        copy_rows(queue(), moved(layer_.output_gradient, place), run(layer_.layer.output), layer_.input_gradients[slot],
                  run(layer_.shapes[slot]), rows_, run(layer_.shapes[slot]));
      }
      place += run(layer_.shapes[slot]);
    }
  }

 private:
  /// How many numbers of a sample, pixel or token stay adjacent.
  std::int64_t run(const Shape& shape) const {
    if (shape.size() != 3) return shape.back();
    return layer_.channels_last() ? shape[0] : elements(shape);
  }
  void* moved(void* numbers, std::int64_t place) const { return static_cast<std::byte*>(numbers) + layer_.bytes(place); }

  std::int64_t rows_ = layer_.output_elements() / run(layer_.layer.output);
};

/// From NHWC to the order of the fully connected layer's weights. A view where both orders are equal.
class Flatten : public CudaOp {
 public:
  using CudaOp::CudaOp;
  void forward() override {
    if (layer_.inputs[0] != layer_.output) transpose(queue(), layer_.inputs[0], layer_.output, layer_.batch(), pixels(), channels());
  }
  void backward() override {
    if (layer_.inputs[0] == layer_.output || layer_.input_gradients[0] == nullptr) return;
    transpose(queue(), layer_.output_gradient, layer_.input_gradients[0], layer_.batch(), channels(), pixels());
  }

 private:
  std::int64_t channels() const { return layer_.shapes[0][0]; }
  std::int64_t pixels() const { return elements(layer_.shapes[0]) / channels(); }
};

/// Pixels of NHWC are tokens already. A view where both orders are equal.
class ToTokens : public CudaOp {
 public:
  using CudaOp::CudaOp;
  void forward() override {
    if (layer_.inputs[0] != layer_.output) transpose(queue(), layer_.inputs[0], layer_.output, layer_.batch(), channels_, pixels_);
  }
  void backward() override {
    if (layer_.inputs[0] == layer_.output || layer_.input_gradients[0] == nullptr) return;
    transpose(queue(), layer_.output_gradient, layer_.input_gradients[0], layer_.batch(), pixels_, channels_);
  }

 private:
  std::int64_t pixels_ = layer_.layer.output[0];
  std::int64_t channels_ = layer_.layer.output[1];
};

class FirstToken : public CudaOp {
 public:
  using CudaOp::CudaOp;
  void forward() override { copy_rows(queue(), layer_.inputs[0], stride_, layer_.output, width_, layer_.batch(), width_); }
  void backward() override {
    if (layer_.input_gradients[0] == nullptr) return;
    zero(layer_.input_gradients[0], layer_.bytes(layer_.input_elements(0)));
    copy_rows(queue(), layer_.output_gradient, width_, layer_.input_gradients[0], stride_, layer_.batch(), width_);
  }

 private:
  std::int64_t width_ = layer_.layer.output.back();
  std::int64_t stride_ = elements(layer_.shapes[0]);
};

/// ResNet's option A: every stride-th pixel. Missing channels are zeros, half of them before the input's channels.
class PadShortcut : public CudaOp {
 public:
  using CudaOp::CudaOp;
  void forward() override { pad_shortcut(queue(), layer_.inputs[0], from_, layer_.output, to_, stride_); }
  void backward() override {
    if (layer_.input_gradients[0] != nullptr)
      pad_shortcut_backward(queue(), layer_.output_gradient, to_, layer_.input_gradients[0], from_, stride_);
  }

 private:
  Image from_ = layer_.image(layer_.shapes[0]);
  Image to_ = layer_.image(layer_.layer.output);
  Pair stride_ = {to_int(layer_.attributes().stride[0]), to_int(layer_.attributes().stride[1])};
};

/// Every pixel several times in both directions.
class Upsample : public CudaOp {
 public:
  using CudaOp::CudaOp;
  void forward() override { upsample(queue(), layer_.inputs[0], from_, layer_.output, scale_); }
  void backward() override {
    if (layer_.input_gradients[0] != nullptr) upsample_backward(queue(), layer_.output_gradient, layer_.input_gradients[0], from_, scale_);
  }

 private:
  Image from_ = layer_.image(layer_.shapes[0]);
  std::int32_t scale_ = to_int(layer_.layer.output[2]) / from_.width;
};

}  // namespace

std::unique_ptr<CudaOp> make_cuda_add(const CudaLayer& layer) { return std::make_unique<Add>(layer); }
std::unique_ptr<CudaOp> make_cuda_concat(const CudaLayer& layer) { return std::make_unique<Concat>(layer); }
std::unique_ptr<CudaOp> make_cuda_flatten(const CudaLayer& layer) { return std::make_unique<Flatten>(layer); }
std::unique_ptr<CudaOp> make_cuda_first_token(const CudaLayer& layer) { return std::make_unique<FirstToken>(layer); }
std::unique_ptr<CudaOp> make_cuda_pad_shortcut(const CudaLayer& layer) { return std::make_unique<PadShortcut>(layer); }
std::unique_ptr<CudaOp> make_cuda_to_tokens(const CudaLayer& layer) { return std::make_unique<ToTokens>(layer); }
std::unique_ptr<CudaOp> make_cuda_upsample(const CudaLayer& layer) { return std::make_unique<Upsample>(layer); }

}  // namespace syncopate::capture
