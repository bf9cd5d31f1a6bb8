#pragma once

#include <functional>
#include <vector>

#include "model/expand.hpp"
#include "model/model.hpp"

namespace syncopate {

/// Every layer's inputs as indices of layers, and the resulting graph.
struct LinkedLayers {
  std::vector<std::vector<std::size_t>> inputs;
  Model::Graph graph;
};

/// Resolves the names of inputs. Throws InputError for an unknown name, for a cycle (the message names its layers), and for layers that are
/// not in topological order. `describe`: returns a layer's Field, for messages.
LinkedLayers link_layers(const ExpandedLayers& layers, const std::function<Field(std::size_t)>& describe);

}  // namespace syncopate
