#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "model/ops.hpp"

namespace syncopate {

/// A layer of a model, for one sample; blocks are expanded, and everything that follows from the description is computed.
struct ModelLayer {
  std::string name;
  const Op* op = nullptr;
  std::vector<std::size_t> inputs;  ///< indices into Model::layers; Model::input_layer stands for the model's input
  Attributes attributes;
  Shape output;
  std::vector<Tensor> tensors;  ///< in declaration order
  double macs = 0;              ///< multiply-accumulates of forward
  double activations = 0;       ///< elements of the inputs and of the output together

  double parameters() const;
  CostClass cost_class() const;
};

/// The file format model/1: a network as a graph of layers.
struct Model {
  /// Vertex i is layers[i]; an edge leads from a layer to one that reads it.
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;

  static constexpr std::size_t input_layer = static_cast<std::size_t>(-1);

  std::string file;
  std::string name;
  std::string source;  ///< where the architecture comes from, or empty
  Shape input;
  bool resized = false;            ///< `input` is not the file's
  std::vector<ModelLayer> layers;  ///< in the order of forward, which is a topological one
  Graph graph;

  std::size_t tensors() const;
  double parameters() const;
  double macs() const;  ///< of forward, for one sample
};

/// Reads and validates a model/1 document. `input` takes the place of the file's, unless it is empty; images may have another size, texts
/// another length. Throws InputError.
Model read_model(const Document& document, const Shape& input = {});

}  // namespace syncopate
