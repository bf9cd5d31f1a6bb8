#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fields.hpp"

namespace syncopate {

/// One layer of a model/1 document, with blocks and repetitions expanded.
struct LayerEntry {
  std::string name;                  ///< full name: "layer1.0.conv1"
  std::shared_ptr<const Json> json;  ///< the description, with block parameters substituted
  std::string pointer;               ///< of the description in the document
  std::vector<std::string> inputs;   ///< full names; `block_input` for the model's input
};

struct ExpandedLayers {
  std::vector<LayerEntry> entries;
  /// From an instance of a block to its last layer or inner instance.
  std::unordered_map<std::string, std::string> instances;
};

/// The name in `inputs` for the input of a block or of the model.
inline constexpr std::string_view block_input = "$input";

/// Expands the `layers` of a model/1 document with its `blocks`. Throws InputError.
ExpandedLayers expand_layers(const Field& layers, const std::optional<Field>& blocks);

}  // namespace syncopate
