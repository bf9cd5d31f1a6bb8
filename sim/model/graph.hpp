#pragma once

#include <functional>
#include <vector>

#include "model/expand.hpp"
#include "model/model.hpp"

namespace syncopate {

/// The inputs of every layer as indices, and the graph that they make.
struct LinkedLayers {
  std::vector<std::vector<std::size_t>> inputs;
  Model::Graph graph;
};

/// Resolves the names of inputs. Throws InputError for a name that does not exist, a cycle (which it names), and layers
/// that are not in a topological order. `describe` gives the Field of a layer, for messages.
LinkedLayers link_layers(const ExpandedLayers& layers, const std::function<Field(std::size_t)>& describe);

}  // namespace syncopate
