#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "capture/cuda/attention_operation.hpp"
#include "capture/cuda/makers.hpp"
#include "capture/cuda/products.hpp"

namespace syncopate::capture {

namespace {

constexpr std::int64_t side = 8;  // cuBLAS's fast products want rows of so many numbers, or a multiple

/// An attention layer's tokens: of its input, output and their gradients.
struct Tokens {
  explicit Tokens(const CudaLayer& layer)
      : heads(layer.attributes().heads),
        count(layer.shapes[0][0]),
        width(layer.layer.output[1]),
        step(layer.shapes[0][1]),
        depth(width / heads),
        matrices(layer.batch() * heads),
        scale(1.0F / std::sqrt(static_cast<float>(depth))) {}

  std::int64_t heads;
  std::int64_t count;
  std::int64_t width;
  std::int64_t step;      ///< from a token of an input to the next one
  std::int64_t depth;     ///< numbers of a token and head
  std::int64_t matrices;  ///< one of scores for every sample and head
  float scale;            ///< of scores
};

/// Query, key or value (0 to 2), which are inputs of their own or side by side in one, or its gradient. Null if the input is.
void* part_of(const CudaLayer& layer, const std::vector<void*>& inputs, std::size_t part) {
  if (inputs.size() > 1) return inputs[part];
  if (inputs[0] == nullptr) return nullptr;
  return static_cast<std::byte*>(inputs[0]) + layer.bytes(static_cast<std::int64_t>(part) * layer.layer.output[1]);
}

/// Attention as one operation of cuDNN in each direction. PyTorch's scaled_dot_product_attention has the same graphs, but takes the first
/// engine of cuDNN's heuristics.
class FusedAttention {
 public:
  explicit FusedAttention(const CudaLayer& layer) : layer_(layer), tokens_(layer) {
    using Name = AttentionTensor;
    const std::int64_t row_bytes = extents_.rows() * number_bytes(Number::fp32);
    statistics_ = layer.tools.allocate(row_bytes);
    std::vector<PlanArgument> arguments = {{Name::query, part_of(layer, layer.inputs, 0)}, {Name::key, part_of(layer, layer.inputs, 1)},
                                           {Name::value, part_of(layer, layer.inputs, 2)}, {Name::output, layer.output},
                                           {Name::statistics, statistics_.data()},         {Name::scale, &tokens_.scale}};
    if (layer.attributes().causal) arguments.push_back({Name::masked, &masked_});
    forward_.emplace(layer.tools, arguments);
    arguments.insert(arguments.end(), {{Name::output_gradient, layer.output_gradient},
                                       {Name::query_gradient, part_of(layer, layer.input_gradients, 0)},
                                       {Name::key_gradient, part_of(layer, layer.input_gradients, 1)},
                                       {Name::value_gradient, part_of(layer, layer.input_gradients, 2)},
                                       {Name::one, &one_}});
    backward_.emplace(layer.tools, arguments,
                      std::vector<ScratchArgument>{{Name::sums, static_cast<std::size_t>(row_bytes)},
                                                   {Name::query_gradient_sum, static_cast<std::size_t>(row_bytes * tokens_.depth)}});
  }
  FusedAttention(const FusedAttention&) = delete;  // arguments point into it
  FusedAttention& operator=(const FusedAttention&) = delete;
  ~FusedAttention() = default;

  /// Chooses an engine for each direction; both need one, as they share the statistics. Returns why that is impossible, else nothing.
  std::string choose() {
    if (const std::size_t version = cudnnGetVersion(); version < fused_attention_since)
      return fmt::format("cuDNN {} or later is needed, found {}", cudnn_version(fused_attention_since), cudnn_version(version));
    if (tokens_.count < 2) return "one token is too few";
    const bool trains = layer_.output_gradient != nullptr;
    const auto& gradients = layer_.input_gradients;
    if (trains && std::find(gradients.begin(), gradients.end(), nullptr) != gradients.end()) return "an input needs no gradient";
    const std::string what = fmt::format("attention: {} tokens {} apart, {} heads of {}{}", tokens_.count, tokens_.step, tokens_.heads,
                                         tokens_.depth, layer_.attributes().causal ? ", causal" : "");
    if (!forward_->choose("forward " + what, attention_forward_graph(extents_))) return "forward: " + forward_->reason();
    if (trains && !backward_->choose("backward " + what, attention_backward_graph(extents_))) return "backward: " + backward_->reason();
    return "";
  }

  std::size_t workspace() const { return std::max(forward_->workspace(), backward_->workspace()); }
  void forward() { forward_->run(); }
  void backward() { backward_->run(); }
  std::vector<std::string> kernels() const { return {forward_->name(), backward_->name(), ""}; }

 private:
  const CudaLayer& layer_;
  Tokens tokens_;
  AttentionExtents extents_{cudnn_type(layer_.tools.number), layer_.batch(), tokens_.heads, tokens_.count, tokens_.depth, tokens_.step,
                            layer_.attributes().causal};
  float masked_ = -std::numeric_limits<float>::infinity();
  float one_ = 1.0F;
  DeviceMemory statistics_;
  std::optional<EnginePass> forward_;
  std::optional<EnginePass> backward_;
};

/// Attention as products of matrices with a softmax between them.
class ProductsOfAttention {
 public:
  /// `reason`: why it is not one operation of cuDNN; empty in fp32, where none is expected.
  explicit ProductsOfAttention(const CudaLayer& layer, std::string reason = "")
      : layer_(layer), tokens_(layer), reason_(std::move(reason)) {
    const std::int64_t scores = layer.bytes(tokens_.matrices * tokens_.count * stride_);
    weights_ = layer.tools.allocate(scores);
    query_ = point_to_part(0, layer.inputs);
    key_ = point_to_part(1, layer.inputs);
    value_ = point_to_part(2, layer.inputs);
    output_ = point_to_heads(layer.output, tokens_.width);
    weight_ = point_to_scores(weights_);
    if (layer.output_gradient == nullptr) return;
    weights_gradient_ = layer.tools.allocate(scores);
    weight_gradient_ = point_to_scores(weights_gradient_);
    output_gradient_ = point_to_heads(layer.output_gradient, tokens_.width);
    query_gradient_ = point_to_part(0, layer.input_gradients);
    key_gradient_ = point_to_part(1, layer.input_gradients);
    value_gradient_ = point_to_part(2, layer.input_gradients);
  }

  void forward() {
    multiply_all(layer_.tools, {tokens_.count, tokens_.count, tokens_.depth}, tokens_.scale, input_heads(query_), input_heads(key_, true),
                 squares(weight_), tokens_.matrices);
    softmax(layer_.tools.queue(), weights_.data(), square_);
    multiply_all(layer_.tools, {tokens_.count, tokens_.depth, tokens_.count}, 1.0F, scores(weight_), input_heads(value_), results(output_),
                 tokens_.matrices);
  }

  void backward() {
    const ProductExtents back = {tokens_.count, tokens_.depth, tokens_.count};
    if (value_gradient_.data() != nullptr)
      multiply_all(layer_.tools, back, 1.0F, scores(weight_, true), heads(output_gradient_), input_results(value_gradient_),
                   tokens_.matrices);
    if (query_gradient_.data() == nullptr && key_gradient_.data() == nullptr) return;
    multiply_all(layer_.tools, {tokens_.count, tokens_.count, tokens_.depth}, 1.0F, heads(output_gradient_), input_heads(value_, true),
                 squares(weight_gradient_), tokens_.matrices);
    softmax_backward(layer_.tools.queue(), weights_.data(), weights_gradient_.data(), square_);
    if (query_gradient_.data() != nullptr)
      multiply_all(layer_.tools, back, tokens_.scale, scores(weight_gradient_), input_heads(key_), input_results(query_gradient_),
                   tokens_.matrices);
    if (key_gradient_.data() != nullptr)
      multiply_all(layer_.tools, back, tokens_.scale, scores(weight_gradient_, true), input_heads(query_), input_results(key_gradient_),
                   tokens_.matrices);
  }

  std::vector<std::string> kernels() const {
    std::string name(product_name(layer_.tools));
    if (!reason_.empty()) name += ", not one fused operation: " + reason_;
    return {name, name, ""};
  }

 private:
  /// Pointers, on the device, to a matrix for every sample and head.
  DeviceMemory point_to(const std::vector<void*>& matrices) const {
    const std::size_t bytes = matrices.size() * sizeof(void*);
    DeviceMemory pointers = layer_.tools.allocate(static_cast<std::int64_t>(bytes));
    copy_to_device(pointers.data(), matrices.data(), bytes, layer_.tools.stream);
    return pointers;
  }

  /// A token holds the numbers of head 0, then those of head 1, and so on; tokens are `step` numbers apart.
  DeviceMemory point_to_heads(void* tokens, std::int64_t step) const {
    if (tokens == nullptr) return {};
    std::vector<void*> matrices;
    for (std::int64_t i = 0; i < tokens_.matrices; ++i) {
      const std::int64_t place = i / tokens_.heads * tokens_.count * step + i % tokens_.heads * tokens_.depth;
      matrices.push_back(static_cast<std::byte*>(tokens) + layer_.bytes(place));
    }
    return point_to(matrices);
  }

  DeviceMemory point_to_part(std::size_t part, const std::vector<void*>& inputs) const {
    return point_to_heads(part_of(layer_, inputs, part), tokens_.step);
  }

  DeviceMemory point_to_scores(const DeviceMemory& scores) const {
    std::vector<void*> matrices;
    for (std::int64_t i = 0; i < tokens_.matrices; ++i) matrices.push_back(scores.at(layer_.bytes(i * tokens_.count * stride_)));
    return point_to(matrices);
  }

  Factors heads(const DeviceMemory& pointers, bool transposed = false) const {
    return {pointers.as<const void*>(), tokens_.width, transposed};
  }
  Factors input_heads(const DeviceMemory& pointers, bool transposed = false) const {
    return {pointers.as<const void*>(), tokens_.step, transposed};
  }
  Products input_results(const DeviceMemory& pointers) const { return {pointers.as<void*>(), tokens_.step}; }
  Factors scores(const DeviceMemory& pointers, bool transposed = false) const { return {pointers.as<const void*>(), stride_, transposed}; }
  Products results(const DeviceMemory& pointers) const { return {pointers.as<void*>(), tokens_.width}; }
  Products squares(const DeviceMemory& pointers) const { return {pointers.as<void*>(), stride_}; }

  const CudaLayer& layer_;
  Tokens tokens_;
  std::string reason_;
  std::int64_t stride_ = (tokens_.count + side - 1) / side * side;  // of scores: rows begin where 16 bytes do
  Scores square_{tokens_.matrices, tokens_.count, stride_, layer_.attributes().causal};
  DeviceMemory weights_;
  DeviceMemory weights_gradient_;
  // Pointers to matrices:
  DeviceMemory query_;
  DeviceMemory key_;
  DeviceMemory value_;
  DeviceMemory output_;
  DeviceMemory weight_;
  DeviceMemory weight_gradient_;
  DeviceMemory output_gradient_;
  DeviceMemory query_gradient_;
  DeviceMemory key_gradient_;
  DeviceMemory value_gradient_;
};

/// softmax(Q K^T / sqrt(d)) V for every head; if causal, of each token with itself and earlier ones. Reads query, key and value, or one
/// input that has them side by side. A. Vaswani et al., "Attention is all you need", NIPS'17, Eq. 1.
///
/// In 16 bits one fused operation, where cuDNN has an engine for it; else products of matrices.
class Attention : public CudaOp {
 public:
  explicit Attention(const CudaLayer& layer) : CudaOp(layer) {
    const std::int64_t depth = Tokens(layer).depth;
    if (depth % side != 0 && layer.network.dtype != "fp32") {
      throw InputError(fmt::format("{}: layer {}: cuBLAS's fast products need multiples of {} numbers per head, got {}; use --dtype fp32",
                                   layer.network.model.file, layer.layer.name, side, depth));
    }
    if (layer.tools.number == Number::fp32) {
      products_.emplace(layer_);
    } else if (!layer.network.fused_attention) {
      products_.emplace(layer_, "--attention products");
    } else {
      fused_.emplace(layer_);
    }
  }

  std::size_t prepare() override {
    if (!fused_) return 0;
    const std::string reason = choose();
    if (reason.empty()) return fused_->workspace();
    fused_.reset();
    products_.emplace(layer_, reason);
    return 0;
  }

  void forward() override { fused_ ? fused_->forward() : products_->forward(); }
  void backward() override { fused_ ? fused_->backward() : products_->backward(); }
  std::vector<std::string> kernels() const override { return fused_ ? fused_->kernels() : products_->kernels(); }

 private:
  /// Errors are reasons, too: another cuDNN may refuse how the graphs are described.
  std::string choose() {
    try {
      return fused_->choose();
    } catch (const OutOfDeviceMemory&) {
      throw;
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }

  std::optional<FusedAttention> fused_;
  std::optional<ProductsOfAttention> products_;
};

}  // namespace

std::unique_ptr<CudaOp> make_cuda_attention(const CudaLayer& layer) { return std::make_unique<Attention>(layer); }

}  // namespace syncopate::capture
