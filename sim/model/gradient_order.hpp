#pragma once

#include <algorithm>
#include <vector>

#include "model/model.hpp"

namespace syncopate {

/// A layer's tensors in the order in which PyTorch's backward makes their gradients ready. A linear layer's bias comes before its weight.
inline std::vector<Tensor> gradient_order(const ModelLayer& layer) {
  std::vector<Tensor> tensors = layer.tensors;
  if (layer.op->cost_class == CostClass::linear) std::reverse(tensors.begin(), tensors.end());
  return tensors;
}

}  // namespace syncopate
