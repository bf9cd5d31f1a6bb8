#include "model/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/depth_first_search.hpp>

#include "base/text.hpp"

namespace syncopate {

namespace {

/// Keeps the path from the root of the search. An edge back to a layer on this path closes a cycle.
class CycleFinder : public boost::dfs_visitor<> {
 public:
  CycleFinder(std::vector<std::size_t>& way, std::vector<std::size_t>& cycle) : way_(&way), cycle_(&cycle) {}

  void discover_vertex(std::size_t vertex, const Model::Graph& /*graph*/) { way_->push_back(vertex); }
  void finish_vertex(std::size_t /*vertex*/, const Model::Graph& /*graph*/) { way_->pop_back(); }
  void back_edge(const Model::Graph::edge_descriptor& edge, const Model::Graph& graph) {
    if (cycle_->empty()) cycle_->assign(std::find(way_->begin(), way_->end(), boost::target(edge, graph)), way_->end());
  }

 private:
  std::vector<std::size_t>* way_;
  std::vector<std::size_t>* cycle_;
};

std::vector<std::size_t> find_cycle(const Model::Graph& graph) {
  std::vector<std::size_t> way;
  std::vector<std::size_t> cycle;
  std::vector<boost::default_color_type> colors(boost::num_vertices(graph));
  boost::depth_first_search(graph, CycleFinder(way, cycle),
                            boost::make_iterator_property_map(colors.begin(), boost::get(boost::vertex_index, graph)));
  return cycle;
}

/// Maps full names of layers and of instances of blocks to layers.
class Names {
 public:
  explicit Names(const ExpandedLayers& layers) : layers_(&layers) {
    for (std::size_t i = 0; i < layers.entries.size(); ++i) index_.emplace(layers.entries[i].name, i);
  }

  std::optional<std::size_t> find(std::string name) const {
    for (auto instance = layers_->instances.find(name); instance != layers_->instances.end(); instance = layers_->instances.find(name)) {
      name = instance->second;
    }
    if (name == block_input) return Model::input_layer;
    const auto found = index_.find(name);
    return found == index_.end() ? std::nullopt : std::optional(found->second);
  }

  std::vector<std::string> all() const {
    std::vector<std::string> names = {std::string(block_input)};
    for (const LayerEntry& entry : layers_->entries) names.push_back(entry.name);
    for (const auto& [name, last] : layers_->instances) names.push_back(name);
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  const ExpandedLayers* layers_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace

LinkedLayers link_layers(const ExpandedLayers& layers, const std::function<Field(std::size_t)>& describe) {
  const Names names(layers);
  LinkedLayers linked{{}, Model::Graph(layers.entries.size())};
  for (std::size_t i = 0; i < layers.entries.size(); ++i) {
    std::vector<std::size_t>& inputs = linked.inputs.emplace_back();
    for (const std::string& name : layers.entries[i].inputs) {
      const auto input = names.find(name);
      if (!input) {
        describe(i).fail_because(fmt::format("layer \"{}\" reads \"{}\", which does not exist{}", layers.entries[i].name, name,
                                             did_you_mean(name, names.all())));
      }
      inputs.push_back(*input);
      if (*input != Model::input_layer) boost::add_edge(*input, i, linked.graph);
    }
  }
  if (const std::vector<std::size_t> cycle = find_cycle(linked.graph); !cycle.empty()) {
    std::vector<std::string> way;
    way.reserve(cycle.size() + 1);
    for (const std::size_t layer : cycle) way.push_back(layers.entries[layer].name);
    way.push_back(way.front());
    describe(cycle.front()).fail_because(fmt::format("layers read each other in a cycle: {}", fmt::join(way, " -> ")));
  }
  for (std::size_t i = 0; i < layers.entries.size(); ++i) {
    for (const std::size_t input : linked.inputs[i]) {
      if (input == Model::input_layer || input < i) continue;
      describe(i).fail_because(
          fmt::format("layers go in the order of forward, but \"{}\" reads \"{}\", which comes after it; move it there",
                      layers.entries[i].name, layers.entries[input].name));
    }
  }
  return linked;
}

}  // namespace syncopate
