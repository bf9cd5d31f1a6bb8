#include "trace/match.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "model/dtype.hpp"

namespace syncopate {

namespace {

using Indices = std::vector<std::size_t>;

/// Normalises the names of ops: "Conv2d" and "conv2d", "batch_norm" and "BatchNorm", "relu_", "cat", ...
std::string op_key(std::string_view type) {
  std::string key;
  for (const char c : type) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (key.size() > 3 && key.ends_with('d') && type.find_first_of("123") != std::string_view::npos) key.pop_back();  // "conv2d"
  for (const auto& [framework, ours] :
       {std::pair{"cat", "concat"}, {"crossentropyloss", "crossentropy"}, {"scaleddotproductattention", "attention"}}) {
    if (key == framework) return ours;
  }
  return key;
}

/// The properties of a layer by which it is matched.
struct Candidate {
  std::string name;
  std::string key;      ///< the spelling of its type
  bool view = false;    ///< its forward takes no time
  bool weights = true;  ///< it has parameters
};
using Candidates = std::vector<Candidate>;

Candidates candidates(const Trace& trace) {
  Candidates found;
  for (const Layer& layer : trace.layers) found.push_back({layer.name, op_key(layer.type), layer.forward == Seconds(0)});
  return found;
}

Candidates candidates(const Model& model) {
  Candidates found;
  for (const ModelLayer& layer : model.layers) found.push_back({layer.name, op_key(layer.op->name), false, !layer.tensors.empty()});
  return found;
}

LayerMatch match_by_name(const Candidates& measured, const Candidates& others) {
  std::unordered_map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < others.size(); ++i) index.emplace(others[i].name, i);
  LayerMatch match{"name", {}};
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const auto found = index.find(measured[i].name);
    if (found != index.end()) match.pairs.emplace_back(i, found->second);
  }
  return match;
}

void pair_up(const Indices& measured, const Indices& others, LayerMatch& match) {
  if (measured.size() != others.size()) return;
  for (std::size_t i = 0; i < measured.size(); ++i) match.pairs.emplace_back(measured[i], others[i]);
}

std::map<std::string, Indices> by_type(const Candidates& layers) {
  std::map<std::string, Indices> found;
  for (std::size_t i = 0; i < layers.size(); ++i) found[layers[i].key].push_back(i);
  return found;
}

LayerMatch match_by_type(const Candidates& measured, const Candidates& others) {
  std::map<std::string, Indices> partners = by_type(others);
  LayerMatch match{"order among layers of one type", {}};
  for (auto& [type, layers] : by_type(measured)) {
    Indices ours = layers;
    Indices& theirs = partners[type];
    if (ours.size() != theirs.size()) {
      std::erase_if(ours, [&](std::size_t i) { return measured[i].view; });
      std::erase_if(theirs, [&](std::size_t i) { return others[i].view; });
    }
    pair_up(ours, theirs, match);
  }
  std::sort(match.pairs.begin(), match.pairs.end());
  return match;
}

LayerMatch match_by_parameters(const Candidates& measured, const Candidates& others) {
  Indices all(measured.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  Indices weighted;
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (others[i].weights) weighted.push_back(i);
  }
  LayerMatch match{"order among layers with parameters", {}};
  pair_up(all, weighted, match);
  return match;
}

LayerMatch match_by_any(const Candidates& measured, const Candidates& others) {
  LayerMatch by_name = match_by_name(measured, others);
  if (2 * by_name.pairs.size() > measured.size()) return by_name;
  const bool untyped =
      std::all_of(measured.begin(), measured.end(), [](const Candidate& layer) { return layer.key.empty() || layer.key == "unknown"; });
  return untyped ? match_by_parameters(measured, others) : match_by_type(measured, others);
}

/// By layer: the elements of its gradients. Nullopt if a gradient has no shape.
std::vector<std::optional<std::int64_t>> elements_of_layers(const Trace& trace) {
  std::vector<std::optional<std::int64_t>> found(trace.layers.size(), 0);
  for (const Gradient& gradient : trace.gradients) {
    std::optional<std::int64_t>& sum = found[gradient.layer];
    if (gradient.shape.empty()) sum.reset();
    if (sum) *sum += elements(gradient.shape);
  }
  return found;
}

}  // namespace

LayerMatch match_layers(const Trace& trace, const Model& model) {
  LayerMatch match = match_by_any(candidates(trace), candidates(model));
  const std::optional<double> bytes_per_element = element_bytes(trace.dtype);
  if (!bytes_per_element) return match;
  const auto is_near = [](double found, double expected) {
    constexpr double slack = 0.05;  // frameworks pad tensors
    return std::abs(found - expected) <= slack * expected;
  };
  std::vector<Bytes> bytes(trace.layers.size());
  for (const Gradient& gradient : trace.gradients) bytes[gradient.layer] += gradient.bytes;
  double all_bytes = 0;
  double all_parameters = 0;
  for (const auto& [traced, described] : match.pairs) {
    all_bytes += bytes[traced].value;
    all_parameters += model.layers[described].parameters();
  }
  constexpr double in_fp32 = 4;
  const bool all_in_fp32 = is_near(all_bytes, in_fp32 * all_parameters);  // autocast stores parameters in fp32
  std::erase_if(match.pairs, [&](const auto& pair) {
    const ModelLayer& layer = model.layers[pair.second];
    const double found = bytes[pair.first].value;
    const bool may_be_fp32 = all_in_fp32 || layer.cost_class() == CostClass::normalization;  // as mixed precision keeps them
    return !is_near(found, *bytes_per_element * layer.parameters()) && !(may_be_fp32 && is_near(found, in_fp32 * layer.parameters()));
  });
  return match;
}

LayerMatch match_layers(const Trace& trace, const Trace& other) {
  LayerMatch match = match_by_any(candidates(trace), candidates(other));
  const auto ours = elements_of_layers(trace);
  const auto theirs = elements_of_layers(other);
  std::erase_if(match.pairs,
                [&](const auto& pair) { return ours[pair.first] && theirs[pair.second] && ours[pair.first] != theirs[pair.second]; });
  return match;
}

}  // namespace syncopate
