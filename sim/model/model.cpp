#include "model/model.hpp"

#include <numeric>

namespace syncopate {

double ModelLayer::parameters() const {
  return std::accumulate(tensors.begin(), tensors.end(), 0.0,
                         [](double sum, const Tensor& tensor) { return sum + static_cast<double>(elements(tensor.shape)); });
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
