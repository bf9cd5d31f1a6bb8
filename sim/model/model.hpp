#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "model/ops.hpp"

namespace syncopate {

/// A layer of a model, for one sample. Blocks are expanded, and all derived figures are computed.
struct ModelLayer {
  std::string name;
  const Op* op = nullptr;
  std::vector<std::size_t> inputs;  ///< indices into Model::layers; Model::input_layer is the model's input
  Attributes attributes;
  Shape output;
  std::vector<Tensor> tensors;  ///< in declaration order
  double macs = 0;              ///< multiply-accumulates of forward
  double activations = 0;       ///< elements of all inputs and of the output

  double parameters() const;
  CostClass cost_class() const;
};

/// The file format model/1: a network as a graph of layers.
struct Model {
  /// Vertex i is layers[i]. An edge leads from a layer to each layer that reads its output.
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;

  static constexpr std::size_t input_layer = static_cast<std::size_t>(-1);

  std::string file;
  std::string name;
  std::string source;  ///< origin of the architecture, or empty
  Shape input;
  bool resized = false;            ///< `input` differs from the file's
  std::vector<ModelLayer> layers;  ///< in the order of forward, a topological order
  Graph graph;

  std::size_t tensors() const;
  double parameters() const;
  double macs() const;  ///< multiply-accumulates of forward, for one sample
};

/// Reads and validates a model/1 document. `input` replaces the file's input shape, unless it is empty: images of another size, texts of
/// another length. Throws InputError.
Model read_model(const Document& document, const Shape& input = {});

}  // namespace syncopate
