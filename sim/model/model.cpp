#include "model/model.hpp"

#include <numeric>

namespace syncopate {

double ModelLayer::parameters() const {
  return std::accumulate(tensors.begin(), tensors.end(), 0.0,
                         [](double sum, const Tensor& tensor) { return sum + static_cast<double>(elements(tensor.shape)); });
}

CostClass ModelLayer::cost_class() const {
  using Pair = std::array<std::int64_t, 2>;
  if (op->name != "conv2d") return op->cost_class;
  if (attributes.groups > 1) return attributes.groups == output.front() ? CostClass::depthwise : CostClass::convolution;
  const bool winograd = attributes.kernel == Pair{3, 3} && attributes.stride == Pair{1, 1};
  return winograd ? CostClass::convolution_3x3 : CostClass::convolution;
}

std::size_t Model::tensors() const {
  return std::accumulate(layers.begin(), layers.end(), std::size_t{0},
                         [](std::size_t sum, const ModelLayer& layer) { return sum + layer.tensors.size(); });
}

double Model::parameters() const {
  return std::accumulate(layers.begin(), layers.end(), 0.0, [](double sum, const ModelLayer& layer) { return sum + layer.parameters(); });
}

double Model::macs() const {
  return std::accumulate(layers.begin(), layers.end(), 0.0, [](double sum, const ModelLayer& layer) { return sum + layer.macs; });
}

}  // namespace syncopate
