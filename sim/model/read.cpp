#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/choice.hpp"
#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/text.hpp"
#include "model/graph.hpp"
#include "model/model.hpp"

namespace syncopate {

namespace {

/// A double counts exactly up to here; a larger tensor is a mistake.
constexpr double most_tensor_elements = 1e15;

/// The number of elements of a shape. Fails if there are too many.
double checked_elements(const Shape& shape, const Field& field) {
  const double product = unchecked_elements(shape);
  if (product > most_tensor_elements) field.fail_because(fmt::format("a tensor of {} elements, more than 1e15", format_shape(shape)));
  return product;
}

Shape read_input(const Field& field) {
  Shape shape;
  for (const Field& extent : field.list()) shape.push_back(extent.integer(1, 1'000'000'000));
  if (shape.size() > 3) field.fail("[channels, height, width], [tokens, width] or [tokens], without the batch");
  checked_elements(shape, field);
  return shape;
}

class LayerReader {
 public:
  LayerReader(Model& model, const Document& document, const ExpandedLayers& expanded)
      : model_(&model), document_(&document), expanded_(&expanded) {}

  Field describe(std::size_t layer) const {
    const LayerEntry& entry = expanded_->entries[layer];
    return {*document_, entry.pointer, *entry.json};
  }

  void read() {
    LinkedLayers linked = link_layers(*expanded_, [this](std::size_t layer) { return describe(layer); });
    model_->graph = linked.graph;
    for (std::size_t i = 0; i < expanded_->entries.size(); ++i) {
      const std::string& name = expanded_->entries[i].name;
      try {
        model_->layers.push_back(read_layer(describe(i), name, std::move(linked.inputs[i])));
      } catch (const InputError& error) {
        // The place is in the block's description; the full name tells the instance.
        throw InputError(fmt::format("{} (layer \"{}\")", error.what(), name));
      }
    }
  }

 private:
  ModelLayer read_layer(const Field& field, const std::string& name, std::vector<std::size_t> inputs) const {
    Object fields(field);
    for (const char* key : {"name", "inputs", "repeat"}) fields.find(key);
    ModelLayer layer;
    layer.name = name;
    layer.op = &choose(fields.at("op"), ops());
    layer.inputs = std::move(inputs);
    std::vector<Shape> shapes;
    for (const std::size_t input : layer.inputs) {
      shapes.push_back(input == Model::input_layer ? model_->input : model_->layers[input].output);
      layer.activations += checked_elements(shapes.back(), field);
    }
    OpResult result = layer.op->apply(fields, shapes);
    fields.finish();
    if (layer.op->name == "tied_linear") require_table(field, {result.output.back(), shapes.front().back()});
    layer.attributes = result.attributes;
    layer.output = std::move(result.output);
    layer.activations += checked_elements(layer.output, field);
    layer.macs = result.macs;
    layer.tensors = std::move(result.tensors);
    for (Tensor& tensor : layer.tensors) {
      checked_elements(tensor.shape, field);
      tensor.name = fmt::format("{}.{}", name, tensor.name);
    }
    return layer;
  }

  /// tied_linear must share the weight of an earlier embedding of this shape.
  void require_table(const Field& field, const Shape& shape) const {
    const bool found = std::any_of(model_->layers.begin(), model_->layers.end(), [&shape](const ModelLayer& layer) {
      return layer.op->name == "embedding" && layer.tensors.front().shape == shape;
    });
    if (!found) field.fail_because(fmt::format("no embedding before it has {} entries of width {}", shape[0], shape[1]));
  }

  Model* model_;
  const Document* document_;
  const ExpandedLayers* expanded_;
};

/// The layers whose output leaves the model. Any other layer that nobody reads is most likely a mistake.
std::set<std::string> read_outputs(const std::optional<Field>& field, const Model& model, const ExpandedLayers& expanded) {
  if (!field) return {model.layers.back().name};
  std::set<std::string> known;
  for (const ModelLayer& layer : model.layers) known.insert(layer.name);
  for (const auto& [name, last] : expanded.instances) known.insert(name);
  std::set<std::string> outputs;
  for (const Field& output : field->list()) {
    std::string name = output.text();
    if (!known.contains(name)) {
      output.fail_because(fmt::format("no layer is named \"{}\"{}", name, did_you_mean(name, {known.begin(), known.end()})));
    }
    while (expanded.instances.contains(name)) name = expanded.instances.at(name);
    outputs.insert(std::move(name));
  }
  return outputs;
}

}  // namespace

Model read_model(const Document& document, const Shape& input) {
  const Field root(document);
  Object fields(root);
  Model model;
  model.file = document.file();
  fields.format("model/1", true);
  model.name = fields.at("name").name();
  if (const auto source = fields.find("source")) model.source = source->text();
  const Field input_field = fields.at("input");
  model.input = read_input(input_field);
  if (!input.empty() && input != model.input) {
    if (input.size() != model.input.size())
      input_field.fail_because(fmt::format("{} cannot be replaced by {}, which has a different number of dimensions",
                                           format_shape(model.input), format_shape(input)));
    model.input = input;
    model.resized = true;
  }
  const auto blocks = fields.find("blocks");
  const Field layers = fields.at("layers");
  const auto outputs_field = fields.find("outputs");
  fields.finish();

  const ExpandedLayers expanded = expand_layers(layers, blocks);
  LayerReader reader(model, document, expanded);
  reader.read();
  const std::set<std::string> outputs = read_outputs(outputs_field, model, expanded);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (boost::out_degree(i, model.graph) > 0 || outputs.contains(model.layers[i].name)) continue;
    reader.describe(i).fail_because(
        fmt::format("no layer reads \"{}\"; name it in another's \"inputs\" or in the model's \"outputs\"", model.layers[i].name));
  }
  if (model.tensors() == 0) layers.fail_because("no layer has parameters: there is nothing to train");
  return model;
}

}  // namespace syncopate
