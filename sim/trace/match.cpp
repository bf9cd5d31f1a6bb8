#include "trace/match.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <unordered_map>

#include "trace/device_profile.hpp"

namespace syncopate {

namespace {

using Indices = std::vector<std::size_t>;

/// One spelling for "Conv2d", "conv2d", "batch_norm", "relu_", "cat", ...
std::string op_key(std::string_view type) {
  std::string key;
  for (const char c : type) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (key.size() > 3 && key.ends_with('d') && type.find_first_of("123") != std::string_view::npos) key.pop_back();  // "conv2d"
  return key == "cat" ? "concat" : key;
}

LayerMatch match_by_name(const Trace& trace, const Model& model) {
  std::unordered_map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < model.layers.size(); ++i) index.emplace(model.layers[i].name, i);
  LayerMatch match{"name", {}};
  for (std::size_t i = 0; i < trace.layers.size(); ++i) {
    const auto found = index.find(trace.layers[i].name);
    if (found != index.end()) match.pairs.emplace_back(i, found->second);
  }
  return match;
}

void pair_up(const Indices& measured, const Indices& described, LayerMatch& match) {
  if (measured.size() != described.size()) return;
  for (std::size_t i = 0; i < measured.size(); ++i) match.pairs.emplace_back(measured[i], described[i]);
}

LayerMatch match_by_type(const Trace& trace, const Model& model) {
  std::map<std::string, Indices> measured;
  std::map<std::string, Indices> described;
  for (std::size_t i = 0; i < trace.layers.size(); ++i) measured[op_key(trace.layers[i].type)].push_back(i);
  for (std::size_t i = 0; i < model.layers.size(); ++i) described[op_key(model.layers[i].op->name)].push_back(i);
  LayerMatch match{"order among layers of one type", {}};
  for (auto& [type, layers] : measured) {
    const Indices& partners = described[type];
    if (layers.size() != partners.size()) std::erase_if(layers, [&](std::size_t i) { return trace.layers[i].forward == Seconds(0); });
    pair_up(layers, partners, match);
  }
  std::sort(match.pairs.begin(), match.pairs.end());
  return match;
}

LayerMatch match_by_parameters(const Trace& trace, const Model& model) {
  Indices measured(trace.layers.size());
  for (std::size_t i = 0; i < measured.size(); ++i) measured[i] = i;
  Indices described;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (!model.layers[i].tensors.empty()) described.push_back(i);
  }
  LayerMatch match{"order among layers with parameters", {}};
  pair_up(measured, described, match);
  return match;
}

LayerMatch match_by_any(const Trace& trace, const Model& model) {
  LayerMatch by_name = match_by_name(trace, model);
  if (2 * by_name.pairs.size() > trace.layers.size()) return by_name;
  const bool untyped = std::all_of(trace.layers.begin(), trace.layers.end(),
                                   [](const Layer& layer) { return layer.type.empty() || layer.type == "unknown"; });
  return untyped ? match_by_parameters(trace, model) : match_by_type(trace, model);
}

}  // namespace

LayerMatch match_layers(const Trace& trace, const Model& model) {
  LayerMatch match = match_by_any(trace, model);
  const std::optional<double> bytes_per_element = element_bytes(trace.dtype);
  if (!bytes_per_element) return match;
  std::vector<Bytes> bytes(trace.layers.size());
  for (const Gradient& gradient : trace.gradients) bytes[gradient.layer] += gradient.bytes;
  constexpr double rounding = 0.05;  // frameworks round sizes up
  std::erase_if(match.pairs, [&](const auto& pair) {
    const double described = model.layers[pair.second].parameters() * *bytes_per_element;
    return std::abs(bytes[pair.first].value - described) > rounding * described;
  });
  return match;
}

}  // namespace syncopate
